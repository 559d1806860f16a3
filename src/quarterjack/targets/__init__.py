"""ACT. What a run calls; one file for each kind, and adding a kind adds one file.

`call` says what every target is told and how it answers. `task` runs Python functions on the event
loop, `command` runs programs under `supervising`, a small process that outlives a worker and leaves
none of their descendants behind. A failing target is an answer, not an exception.
"""
