-- People ask for schedules by name, inside a transaction.
create index schedules_by_name on schedules (name) where name is not null and deleted_at is null;

-- Who asked for what, and what it changed. The number of a request is also that of its runs.
create table audit (
    id integer primary key,
    at integer not null,
    by text not null,
    origin text not null,
    verb text not null,
    schedule_id integer,
    run_id text,
    before text,
    after text
) strict;

create index audit_by_age on audit (at);
create index audit_by_schedule on audit (schedule_id, id);

create trigger audit_is_never_changed before update on audit
begin
    select raise(abort, 'what was written into the audit stays');
end;
