-- Runs that are ready at the same instant are claimed in the order of their schedules, and are found in
-- it: else each claim would sort a whole herd.
drop index runs_queued;
create index runs_queued on runs (queue, priority desc, ready_at, schedule_id, number)
where state = 'queued';
