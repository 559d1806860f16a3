-- Whose turn it is, without looking at all that is open: a long queue has many that are not held.
create index runs_held on runs (scope, schedule_id, number) where state = 'held';
