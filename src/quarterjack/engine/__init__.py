"""DO. Each process is `async step(now) -> next wake`: it calls one transaction of the store with
the rule that decides, and returns when it wants to step again. No process reads a clock.

Read `loop` (how a process is kept stepping), then the processes in the order of a run's life:
`planner` (due slots become runs), `worker` (runs become attempts) with `executor`, `output` and
`recorder`, `leases` (renewing them, and settling attempts whose lease expired), `notifier` (the
outbox), `pruner` (rows past their retention), `storage` (log and size of the database file),
`clock_watch` (a clock that jumps), `heartbeat` (the clock of a database server). `node` runs them
together.
"""
