"""Deterministic simulation: the production engine under a seed, with faults; months in seconds.

Read `simulation` first: hosts with their nodes, users, faults and one real `database`. `event_loop`
is simulated time, `clock` what clocks show, `process_loop` how the engine's processes wait,
`faulty_store` and `faults` what goes wrong, `scripted_target` the work, `users` and `definitions`
the requests, `host` how nodes start and stop, `profile` the parameters that a seed chooses.
`record` is the log; tests/harness/sim checks it.

Promised: no threads, no clock but the simulated one, and the same seed gives the same log.
"""
