"""The transactions of the store, each written once for all databases.

A transaction is a generator that yields the names and parameters of statements and receives their
rows. It reads facts under locks, calls the rule that it was given, and writes what the rule has
decided. It never reads a clock: `now` is an argument. It may be executed again after a conflict, so
it has no effects but its statements.

In the order of the life of a run: `changes` (control requests: create, edit, pause, ...) and
`declare` (schedules from a file), which share `requests`; then `plan`, `claim`, `attempts` (leases
and output), `settle`, `outbox` (notifications), `daily_stats` and `retention`. They share `facts`
(what they read, and the lock order) and `apply_decisions` (what they write). `nodes` and `metadata`
are about the database as a whole.

The databases and the simulator know a transaction by the name of its function: which ones may share
a commit, and which ones wake other processes. Change the name in those places as well.
"""
