"""DECLARE. From what a person wrote, in a file or in a program, to schedules in the store.

`yaml_file` reads a file, with the line of each key: it is a `source`. `declaration` validates what
a source says, with `settings` for the service; `difference` compares it with what is stored, which
is pure; `apply` carries the difference out and logs it, but for older `revisions`; `reconciler`
keeps the store equal while a node runs.
"""
