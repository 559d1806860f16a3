insert into gate_changes (key, at, before, after, failures, run_id)
values ($1, $2, $3, $4, $5, $6)
