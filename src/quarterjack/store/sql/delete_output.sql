-- Chunks that newer ones of the same attempt have replaced.
delete from output
where schedule_id = $1 and number = $2 and attempt = $3 and sequence >= $4 and sequence < $5
