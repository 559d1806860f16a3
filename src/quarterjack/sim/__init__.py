"""The same engine in a seeded world: years of faults in minutes.

Read `world` first: hosts with their nodes, people, faults, one real `database`. `loop` is how time
passes in it, `clock` what clocks show, `sleep` how processes wait, `store` and `faults` what goes
wrong, `work` what is run, `people` and `definitions` what is asked for, `host` how nodes come and
go, `profile` how large and rough it all is. `record` is what happened; it is judged elsewhere.

Promised: no threads, no clock but the world's, and the same seed gives the same record.
"""
