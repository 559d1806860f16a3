"""One file for each policy: its settings, its rule, and its description at the top of the file.

A policy is pure, and is applied by `rules.plan`, `rules.settle` or `rules.operations`; a rule about
runs or slots stands only in the file of its policy. In the order in which planning applies them:
`catch_up` and `windows` (which due slots are candidates), `repeats`, `overlap`, `gate` (circuit
breaker and polls), `limits` and `budgets` (what all schedules share). After an attempt: `retry`,
`execution`, `pause`, `anchors`. For new schedules `first_run`, for ranges of past slots `backfill`,
for old rows `retention`.
"""
