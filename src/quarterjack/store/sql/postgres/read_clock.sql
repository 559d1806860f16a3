-- The time of the database. Only this and heartbeat read it.
select (extract(epoch from clock_timestamp()) * 1000000)::bigint
