-- Where a chunk begins in the whole output of its attempt, and when its parts were written, at which level.
alter table output add column position integer;
alter table output add column marks text;

-- The last progress that an attempt reported, and when it times out if it extended its timeout.
create table progress (
    schedule_id integer not null,
    number integer not null,
    attempt integer not null,
    at integer not null,
    fraction real,
    text text,
    times_out_at integer,
    primary key (schedule_id, number, attempt)
) strict, without rowid;
