-- Where a chunk begins in the whole output of its attempt, and when its parts were written, at which level.
alter table output add column position bigint;
alter table output add column marks text;

-- The last progress that an attempt reported, and when it times out if it extended its timeout.
create table progress (
    schedule_id bigint not null,
    number bigint not null,
    attempt bigint not null,
    at bigint not null,
    fraction double precision,
    text text,
    times_out_at bigint,
    primary key (schedule_id, number, attempt)
);
