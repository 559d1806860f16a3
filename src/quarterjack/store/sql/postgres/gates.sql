-- Those who share a gate decide one after the other, though its row may not be there yet. What the
-- one before wrote is seen by a statement that begins after it.
select pg_advisory_xact_lock(hashtextextended(key, 7415))
from (select unnest($1::text[]) as key order by key) as wanted;

select *
from gates
where key = any($1)
