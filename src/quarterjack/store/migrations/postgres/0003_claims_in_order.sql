-- Runs that are ready at the same instant are claimed in the order of their schedules, and are found in
-- it: else each claim would sort a whole herd. The old index serves until the new one is there.
create index runs_in_order on runs (queue, priority desc, ready_at, schedule_id, number)
where state = 'queued';
drop index runs_queued;
alter index runs_in_order rename to runs_queued;
