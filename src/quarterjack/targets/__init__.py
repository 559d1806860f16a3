"""ACT. What a run calls: one file for each kind of target, with its fields, their checks and how it
acts. `kinds` is their table; those that this program cannot run yet are accepted in definitions if
another node can.

Read `call` first: what every target is given, and how it answers. `command` runs programs. `task`,
`workflow` and `prompt` call what a program enters in its `registrations`, through `functions`, with
`context` and `results`: async functions on the event loop, sync ones in `processes`. That folder
also ends whatever a command or a task has started, even if the worker is killed. A failing target
is an answer, not an exception.
"""
