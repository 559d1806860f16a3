-- Two who start at once with editions of one declaration decide one after the other.
select pg_advisory_xact_lock(hashtextextended($1, 7416))
