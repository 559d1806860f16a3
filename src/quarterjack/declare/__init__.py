"""DECLARE. From what a person wrote in a file to schedules in the store.

`yaml_file` reads the file, with the line of everything it names; `declaration` makes settings and
specifications of it, or tells all problems at once; `applying` finds the difference to the store
and makes it equal, and `keeper` does so again if somebody removes a row from outside.
"""
