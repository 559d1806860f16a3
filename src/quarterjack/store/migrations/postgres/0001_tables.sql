-- Instants are integers: microseconds since 1970, UTC. The first columns of `schedules` and all of
-- `runs` are the fields of `rules.Schedule` and `rules.Run`, in order.

create table counters (
    name text primary key,
    value bigint not null
);

insert into counters values ('schedules', 0), ('requests', 0);

create table facts (
    name text primary key,
    value text not null
);

create table schedules (
    id bigint primary key,
    key text not null,
    created_at bigint not null,
    anchor_at bigint not null,
    cursor bigint not null,
    version bigint not null,
    status text not null,
    status_reason text,
    paused_by text,
    paused_until bigint,
    next_slot bigint,
    wake_at bigint,
    planned_count bigint not null,
    run_count bigint not null,
    current_repeat bigint not null,
    current_retry bigint not null,
    error_count bigint not null,
    consecutive_errors bigint not null,
    last_error text,
    last_result text,
    last_run_id text,
    last_fired_at bigint,
    last_success_at bigint,
    last_success_run_id text,
    last_failure_at bigint,
    passed text,
    backfill text,
    name text,
    owner text,
    origin text not null,
    updated_at bigint not null,
    deleted_at bigint,
    priority bigint not null default 0
) with (fillfactor = 70);

create unique index schedules_by_key on schedules (key) where deleted_at is null;
create index schedules_by_owner on schedules (owner, key) where owner is not null;
create index schedules_by_name on schedules (name) where name is not null and deleted_at is null;
-- The urgent are planned before a crowd that came due earlier.
create index schedules_by_wake on schedules (sign(priority), wake_at, id) where wake_at is not null;

create table specifications (
    schedule_id bigint not null,
    version bigint not null,
    hash text not null,
    body text not null,
    created_at bigint not null,
    primary key (schedule_id, version)
);

create table runs (
    schedule_id bigint not null,
    number bigint not null,
    kind text not null,
    slot bigint not null,
    ready_at bigint not null,
    planned_at bigint not null,
    scope text not null,
    gate text,
    version bigint not null,
    request bigint not null,
    state text not null,
    reason text,
    priority bigint not null,
    queue text not null,
    caught_up boolean not null,
    attempt bigint not null,
    failures bigint not null,
    losses bigint not null,
    worker text,
    started_at bigint,
    lease_until bigint,
    finished_at bigint,
    cancel text,
    error text,
    result text,
    primary key (schedule_id, number)
) with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.05);

-- Identity before locking: one row for each slot and request, whoever plans.
create unique index runs_by_slot on runs (schedule_id, slot, request);

-- Each index says exactly what its question asks. A run is open as long as it has not finished, so
-- that claiming it leaves the index of open runs alone.
create index runs_queued on runs (queue, priority desc, ready_at) where state = 'queued';
create index runs_running on runs (lease_until) where state = 'running';
create index runs_open on runs (scope) where finished_at is null;
-- Whose turn it is, without looking at all that is open: a long queue has many that are not held.
create index runs_held on runs (scope, schedule_id, number) where state = 'held';
create index runs_finished on runs (finished_at) where finished_at is not null;
create index runs_planned on runs (planned_at);

create table attempts (
    schedule_id bigint not null,
    number bigint not null,
    attempt bigint not null,
    worker text,
    started_at bigint,
    finished_at bigint not null,
    ending text not null,
    error text,
    result text,
    handed_back boolean not null,
    primary key (schedule_id, number, attempt)
);

create table output (
    schedule_id bigint not null,
    number bigint not null,
    attempt bigint not null,
    sequence bigint not null,
    at bigint not null,
    data bytea not null,
    primary key (schedule_id, number, attempt, sequence)
);

create index output_by_age on output (at);

create table passed (
    schedule_id bigint not null,
    first bigint not null,
    last bigint not null,
    count bigint not null,
    reason text not null,
    primary key (schedule_id, first)
);

create index passed_by_age on passed (last);

create table gates (
    key text primary key,
    state text not null,
    failures bigint not null,
    until bigint,
    reset_after bigint not null,
    probe text
);

create table gate_changes (
    id bigint generated always as identity primary key,
    key text not null,
    at bigint not null,
    before text not null,
    after text not null,
    failures bigint not null,
    run_id text
);

create index gate_changes_by_key on gate_changes (key, id);
create index gate_changes_by_age on gate_changes (at);

create table planning (
    id bigint primary key check (id = 1),
    last_look bigint,
    outage text,
    pace text not null
);

insert into planning values (1, null, null, '[0, 0, 0]');

create table events (
    id bigint generated always as identity primary key,
    kind text not null,
    at bigint not null,
    about text not null,
    detail text
);

create index events_by_age on events (at);

create table outbox (
    id bigint generated always as identity primary key,
    kind text not null,
    at bigint not null,
    about text not null,
    detail text,
    sent_at bigint
);

create index outbox_unsent on outbox (id) where sent_at is null;
create index outbox_by_age on outbox (at);

-- Who asked for what, and what it changed. The number of a request is also that of its runs.
create table audit (
    id bigint primary key,
    at bigint not null,
    by text not null,
    origin text not null,
    verb text not null,
    schedule_id bigint,
    run_id text,
    before text,
    after text
);

create index audit_by_age on audit (at);
create index audit_by_schedule on audit (schedule_id, id);

create function audit_is_never_changed() returns trigger language plpgsql as $$
begin
    raise exception 'what was written into the audit stays';
end
$$;

create trigger audit_is_never_changed before update on audit
for each row execute function audit_is_never_changed();

-- What the runs of a schedule came to on a day of UTC, by when they ended; schedule 0 is all of them.
-- Only runs that started have a duration (of their last attempt) and a delay (from when that attempt
-- was ready to when it started), in microseconds.
create table daily (
    day bigint not null,
    schedule_id bigint not null,
    succeeded bigint not null,
    failed bigint not null,
    timed_out bigint not null,
    cancelled bigint not null,
    lost bigint not null,
    skipped bigint not null,
    started bigint not null,
    duration_sum bigint not null,
    duration_max bigint not null,
    delay_sum bigint not null,
    delay_max bigint not null,
    primary key (day, schedule_id)
);

-- For people with a database browser.
create view readable_schedules as
select
    id,
    key,
    status,
    status_reason,
    to_timestamp(next_slot / 1e6) as next_slot,
    to_timestamp(last_fired_at / 1e6) as last_fired_at,
    to_timestamp(last_success_at / 1e6) as last_success_at,
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
    to_timestamp(slot / 1e6) as slot,
    to_timestamp(started_at / 1e6) as started_at,
    to_timestamp(finished_at / 1e6) as finished_at,
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
    to_timestamp(first / 1e6) as first,
    to_timestamp(last / 1e6) as last
from passed
left join schedules on schedules.id = schedule_id;
