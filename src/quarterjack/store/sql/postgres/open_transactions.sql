-- Of other sessions in this database, oldest first. Their start is null if this user may not see it. Vacuum
-- has no user, and is left out.
select
    pid,
    application_name,
    usename::text,
    (extract(epoch from xact_start) * 1000000)::bigint
from pg_stat_activity
where
    datname = current_database()
    and pid <> pg_backend_pid()
    and usesysid is not null
    and (xact_start is not null or backend_xid is not null or backend_xmin is not null)
order by xact_start
