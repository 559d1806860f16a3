update outbox
set sent_at = $1
where id = $2
