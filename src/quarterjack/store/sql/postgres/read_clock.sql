-- What time it is: only this, and the beat of a node, asks the database.
select (extract(epoch from clock_timestamp()) * 1000000)::bigint
