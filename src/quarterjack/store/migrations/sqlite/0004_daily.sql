-- What the runs of a schedule came to on a day of UTC, by when they ended; schedule 0 is all of them.
-- Only runs that started have a duration (of their last attempt) and a delay (from when that attempt
-- was ready to when it started), in microseconds.

create table daily (
    day integer not null,
    schedule_id integer not null,
    succeeded integer not null,
    failed integer not null,
    timed_out integer not null,
    cancelled integer not null,
    lost integer not null,
    skipped integer not null,
    started integer not null,
    duration_sum integer not null,
    duration_max integer not null,
    delay_sum integer not null,
    delay_max integer not null,
    primary key (day, schedule_id)
) strict, without rowid;
