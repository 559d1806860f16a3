"""Benchmarks, for people: each prints what `docs/performance.md` shows.

`times` and `rules` measure the pure parts. `engine` makes the table of the engine from what `ours`
and `peers` measure, `scale` looks at a million; `measuring` is what these share. Every measure is a
function of a folder that can be called alone, under a profiler, for instance.
"""
