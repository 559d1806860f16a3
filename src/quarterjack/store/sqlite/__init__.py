"""The store on SQLite: one file on one host, used by one or more processes.

An acknowledged operation is in the file, unless `durability: normal` gives up the last fraction of
a second in a power cut. A damaged, replaced or foreign file is refused, never repaired or
overwritten.

`store` is the entry point. `file` opens, creates and upgrades the database, after `library` has
checked the release of SQLite; `executor` owns the connection that writes, in a thread with group
commit, and checks before and after each commit with `replaced` that the file is still the same.
`watch` notices writes of other processes, `wal` keeps the write-ahead log short, `space` returns
free pages. `errors` translates SQLite's errors, and `doctor` is the part of `doctor` for SQLite.
"""
