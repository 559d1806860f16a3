-- Transactions that lock the same name run one after the other.
select pg_advisory_xact_lock(hashtextextended($1, 7416))
