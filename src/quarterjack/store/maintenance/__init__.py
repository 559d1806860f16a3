"""Maintenance of a database, for the command line: `db upgrade`, `db check`, `db backup` and
`doctor`.

Everything except `upgrade` only reads, and works while the service runs. `reader` opens either kind
of database for queries; `check` and `doctor` use it, and `results` is what `doctor` reports. What
is specific to SQLite or PostgreSQL lies in `sqlite/` and `postgres/`; `db prune` uses the
transactions of the store itself.
"""
