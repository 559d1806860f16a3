-- Instants are integers: microseconds since 1970, UTC. The first columns of `schedules` and all of
-- `runs` are the fields of `rules.Schedule` and `rules.Run`, in order.

create table counters (
    name text primary key,
    value integer not null
) strict, without rowid;

insert into counters values ('schedules', 0), ('requests', 0);

create table facts (
    name text primary key,
    value text not null
) strict, without rowid;

create table schedules (
    id integer primary key,
    key text not null,
    created_at integer not null,
    anchor_at integer not null,
    cursor integer not null,
    version integer not null,
    status text not null,
    status_reason text,
    paused_by text,
    paused_until integer,
    next_slot integer,
    wake_at integer,
    planned_count integer not null,
    run_count integer not null,
    current_repeat integer not null,
    current_retry integer not null,
    error_count integer not null,
    consecutive_errors integer not null,
    last_error text,
    last_result text,
    last_run_id text,
    last_fired_at integer,
    last_success_at integer,
    last_success_run_id text,
    last_failure_at integer,
    passed text,
    backfill text,
    name text,
    owner text,
    origin text not null,
    updated_at integer not null,
    deleted_at integer
) strict;

create unique index schedules_by_key on schedules (key) where deleted_at is null;
create index schedules_by_owner on schedules (owner, key) where owner is not null;
create index schedules_by_wake on schedules (wake_at) where wake_at is not null;

create table specifications (
    schedule_id integer not null,
    version integer not null,
    hash text not null,
    body text not null,
    created_at integer not null,
    primary key (schedule_id, version)
) strict, without rowid;

create table runs (
    schedule_id integer not null,
    number integer not null,
    kind text not null,
    slot integer not null,
    ready_at integer not null,
    planned_at integer not null,
    scope text not null,
    gate text,
    version integer not null,
    request integer not null,
    state text not null,
    reason text,
    priority integer not null,
    queue text not null,
    caught_up integer not null,
    attempt integer not null,
    failures integer not null,
    losses integer not null,
    worker text,
    started_at integer,
    lease_until integer,
    finished_at integer,
    cancel text,
    error text,
    result text,
    primary key (schedule_id, number)
) strict, without rowid;

-- Identity before locking: one row for each slot and request, whoever plans.
create unique index runs_by_slot on runs (schedule_id, slot, request);

-- Each index says exactly what its question asks; SQLite uses a partial one for nothing else. A run
-- is open as long as it has not finished, so that claiming it leaves the index of open runs alone.
create index runs_queued on runs (queue, priority desc, ready_at) where state = 'queued';
create index runs_running on runs (lease_until) where state = 'running';
create index runs_open on runs (scope) where finished_at is null;
create index runs_finished on runs (finished_at) where finished_at is not null;
create index runs_planned on runs (planned_at);

create table attempts (
    schedule_id integer not null,
    number integer not null,
    attempt integer not null,
    worker text,
    started_at integer,
    finished_at integer not null,
    ending text not null,
    error text,
    result text,
    handed_back integer not null,
    primary key (schedule_id, number, attempt)
) strict, without rowid;

create table output (
    schedule_id integer not null,
    number integer not null,
    attempt integer not null,
    sequence integer not null,
    at integer not null,
    data blob not null,
    primary key (schedule_id, number, attempt, sequence)
) strict, without rowid;

create index output_by_age on output (at);

create table passed (
    schedule_id integer not null,
    first integer not null,
    last integer not null,
    count integer not null,
    reason text not null,
    primary key (schedule_id, first)
) strict, without rowid;

create index passed_by_age on passed (last);

create table gates (
    key text primary key,
    state text not null,
    failures integer not null,
    until integer,
    reset_after integer not null,
    probe text
) strict, without rowid;

create table gate_changes (
    id integer primary key autoincrement,
    key text not null,
    at integer not null,
    before text not null,
    after text not null,
    failures integer not null,
    run_id text
) strict;

create index gate_changes_by_key on gate_changes (key, id);
create index gate_changes_by_age on gate_changes (at);

create table planning (
    id integer primary key check (id = 1),
    last_look integer,
    outage text,
    pace text not null
) strict;

insert into planning values (1, null, null, '[0, 0, 0]');

create table events (
    id integer primary key autoincrement,
    kind text not null,
    at integer not null,
    about text not null,
    detail text
) strict;

create index events_by_age on events (at);

create table outbox (
    id integer primary key autoincrement,
    kind text not null,
    at integer not null,
    about text not null,
    detail text,
    sent_at integer
) strict;

create index outbox_unsent on outbox (id) where sent_at is null;
create index outbox_by_age on outbox (at);

-- For people with a database browser.
create view readable_schedules as
select
    id,
    key,
    status,
    status_reason,
    strftime('%Y-%m-%d %H:%M:%fZ', next_slot / 1e6, 'unixepoch') as next_slot,
    strftime('%Y-%m-%d %H:%M:%fZ', last_fired_at / 1e6, 'unixepoch') as last_fired_at,
    strftime('%Y-%m-%d %H:%M:%fZ', last_success_at / 1e6, 'unixepoch') as last_success_at,
    planned_count,
    run_count,
    error_count,
    last_error
from schedules
where deleted_at is null;

create view readable_runs as
select
    schedule_id || '-' || number as run,
    key as schedule,
    state,
    reason,
    strftime('%Y-%m-%d %H:%M:%fZ', slot / 1e6, 'unixepoch') as slot,
    strftime('%Y-%m-%d %H:%M:%fZ', started_at / 1e6, 'unixepoch') as started_at,
    strftime('%Y-%m-%d %H:%M:%fZ', finished_at / 1e6, 'unixepoch') as finished_at,
    attempt,
    worker,
    error
from runs
left join schedules on schedules.id = schedule_id;

create view readable_slots as
select
    key as schedule,
    reason,
    count,
    strftime('%Y-%m-%d %H:%M:%fZ', first / 1e6, 'unixepoch') as first,
    strftime('%Y-%m-%d %H:%M:%fZ', last / 1e6, 'unixepoch') as last
from passed
left join schedules on schedules.id = schedule_id;
