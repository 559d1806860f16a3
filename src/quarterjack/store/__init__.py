"""REMEMBER. The only folder with SQL; it decides nothing.

Read `contract` first: the verbs, each one transaction, and what they promise. `verbs` writes each
of them once for all databases, as steps that name statements (`queries/`, one file each); it reads
with `facts` and writes with `carrying_out`, and `rows` says how values lie in rows. `address` says
which kind of database is meant. `sqlite` walks the steps: `sqlite_file` opens the database or
refuses to (with `sqlite_library`), `sqlite_thread` owns the connection and commits in groups,
`sqlite_replaced` notices that the file is another one, `sqlite_log` keeps what lies beside it
short, `watch` notices what other processes write.
`postgres` walks them on PostgreSQL: `postgres_link` is a connection that comes back by itself,
`postgres_turns` says what shares a transaction, `postgres_walk` carries steps out, and
`postgres_schema` makes the tables; `migration` is for both.
`rolling_up` and `forgetting` are what becomes of old runs. `reads` is for the doors, and `shown` is
how every door shows a schedule or a run. For whoever takes care of a database: `upgrading`,
`checking`, `backing_up` (with `postgres_dump`), `space`, `diagnosis`
(with `sqlite_diagnosis` or `postgres_diagnosis` for what is around it); `looking` is how they ask.
"""
