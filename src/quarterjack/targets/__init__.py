"""ACT. What a run calls: one file for each kind of target, with its fields, their checks and how it
acts. `kinds` is their table; those that this program cannot run yet are accepted in definitions if
another node can.

Read `call` first: what every target is given, and how it answers. `task` runs Python functions,
with their `context` and `results`; a program enters them in its `registrations`, with workflows and
a prompt handler. `command` runs programs under `supervisor`, a small process that outlives a worker
and kills every descendant of a command. A failing target is an answer, not an exception.
"""
