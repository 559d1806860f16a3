"""Benchmarks, for people: each prints what `docs/performance.md` shows.

`times` and `rules` measure the pure parts. `engine` makes the tables of the engine from what
`ours`, `floors`, `peers`, `queues` and `workers` measure, `scale` looks at a million; `databases`
and `measuring` are what these share. Every measure is a function of a place, which is a database,
and can be called alone, under a profiler, for instance.
"""
