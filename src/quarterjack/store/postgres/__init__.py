"""The store on PostgreSQL 14 or later: one database, and any number of nodes on any hosts.

Nothing here blocks the event loop, holds a lock between two calls, or takes a session-level lock;
so it also works behind a transaction pooler. Lost connections are reopened; deadlocks and
serialization failures are retried. Needs asyncpg, so nothing outside imports it unless the address
is one of PostgreSQL.

`store` is the entry point: what a node sends over its two connections, its clock, and notifications
between nodes. `connection` is a connection that reopens itself, `group_commit` decides which
operations share a transaction, and `executor` sends the statements of one. `schema` creates and
upgrades the tables, `reader` reads for people, `backup` calls `pg_dump`, `errors` translates
PostgreSQL's errors, and `doctor` is the part of `doctor` for PostgreSQL.
"""
