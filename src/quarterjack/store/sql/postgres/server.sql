-- Version, settings that protect against data loss, and used and allowed connections.
select
    current_setting('server_version'),
    current_setting('fsync'),
    current_setting('full_page_writes'),
    current_setting('synchronous_commit'),
    current_setting('autovacuum'),
    (select sum(numbackends)::bigint from pg_stat_database),
    current_setting('max_connections')::bigint
    - current_setting('superuser_reserved_connections')::bigint
