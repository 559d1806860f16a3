-- Transactions that share a gate run one after the other, even if its row does not exist yet. The rows are
-- read by a second statement, which sees what the previous holder of the lock has committed.
select pg_advisory_xact_lock(hashtextextended(key, 7415))
from (select unnest($1::text[]) as key order by key) as wanted;

select *
from gates
where key = any($1)
