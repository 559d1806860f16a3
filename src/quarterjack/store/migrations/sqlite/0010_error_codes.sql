-- The code of an error, if the task that failed named it.
alter table runs add column code text;
alter table attempts add column code text;
