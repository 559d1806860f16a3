-- The privileges of this user on each of our tables.
select
    relname::text,
    has_table_privilege(oid, 'select'),
    has_table_privilege(oid, 'insert'),
    has_table_privilege(oid, 'update'),
    has_table_privilege(oid, 'delete')
from pg_class
where relnamespace = current_schema()::regnamespace and relkind = 'r'
order by relname
