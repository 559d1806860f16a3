select id, kind, at, about, detail
from outbox
where sent_at is null
order by id
limit $1
