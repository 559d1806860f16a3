-- From the statistics of the server, with the time of the last autovacuum.
select
    schemaname || '.' || relname,
    n_live_tup,
    n_dead_tup,
    (extract(epoch from last_autovacuum) * 1000000)::bigint
from pg_stat_user_tables
where schemaname = current_schema() and relname in ('runs', 'schedules')
order by relname
