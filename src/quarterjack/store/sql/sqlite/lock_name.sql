-- No lock needed: on SQLite only one transaction writes at a time.
select $1
