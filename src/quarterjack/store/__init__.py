"""REMEMBER. The state of the scheduler in a database. The only folder with SQL; it decides nothing.

`store` is the interface: each method is one transaction, and its docstring says what it promises;
`types` are the arguments and results. `transactions` implements each one once for all databases, as
a generator of `statements`, whose texts are in `sql`; `rows` converts between rows and values,
`specifications` caches definitions, `audit` makes the rows of the audit log. `sqlite` and
`postgres` are all that differs between databases: connections, execution, group commit. `address`
tells which one a URL means, `migrations` has the schema.

`reader` answers the queries of the interfaces (CLI, API), which never block the engine.
`maintenance` is for operators: check, doctor, backup, upgrade.

Promises: a method that raises has changed nothing. A call may be repeated after a lost connection.
Locks are taken in the order schedules by id, gates by key, runs by id. No transaction stays open
between two calls.

Reading order: `types`, `store`, `transactions`, `statements`, then `sqlite` or `postgres`.
"""
