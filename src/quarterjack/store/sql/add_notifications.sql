insert into outbox (kind, at, about, detail)
values ($1, $2, $3, $4)
