"""DO. Each process is `async step(now) -> next wake`: it asks the store for one thing, with the
rule that decides, and says when it wants to be asked again. Nothing else here knows the time.

Read `loop` (how a process is kept stepping), then the processes in the life of a run: `planner`
(due slots become runs), `worker` (runs become attempts) with `executor` and `output`, `renewer`
(leases), `rescuer` (attempts whose worker is gone), `notifier` (what people should hear of),
`pruner` (what may be forgotten), `caretaker` (what grows beside the data), `timekeeper` (a clock
that jumps), `heart` (the clock of a database that has one). `node` puts them together.
"""
