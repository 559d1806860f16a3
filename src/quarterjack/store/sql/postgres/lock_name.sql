-- Of several transactions that ask for one name, one goes on at a time.
select pg_advisory_xact_lock(hashtextextended($1, 7416))
