-- SQLite dump (by APSW 3.54.1.0)
-- SQLite version 3.54.1
-- Date: Thu Nov 19 23:33:57 2026
-- Tables like: (All)
-- Database: /tmp/tmplg0jozs7/quarterjack.db
-- User: root @ vm

-- The values of various per-database settings
PRAGMA page_size=4096;
-- PRAGMA encoding='UTF-8';
-- PRAGMA auto_vacuum=INCREMENTAL;
-- PRAGMA max_page_count=4294967294;

BEGIN TRANSACTION;

-- Table  attempts
DROP TABLE IF EXISTS attempts;
CREATE TABLE attempts (
    schedule_id integer not null,
    number integer not null,
    attempt integer not null,
    worker text,
    started_at integer,
    finished_at integer not null,
    ending text not null,
    error text,
    result text,
    handed_back integer not null, code text,
    primary key (schedule_id, number, attempt)
) strict, without rowid;
INSERT INTO attempts VALUES(4,0,1,'w1',1794826800000000,1794826800000000,'failed',NULL,NULL,0,NULL);

-- Table  audit
DROP TABLE IF EXISTS audit;
CREATE TABLE audit (
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
INSERT INTO audit VALUES(1,1794816000000000,'ada','test','create',1,NULL,NULL,'{"key":"hourly","version":1}');
INSERT INTO audit VALUES(2,1794816000000000,'ada','test','create',2,NULL,NULL,'{"key":"repeating","version":1}');
INSERT INTO audit VALUES(3,1794816000000000,'ada','test','create',3,NULL,NULL,'{"key":"one-shot","version":1}');
INSERT INTO audit VALUES(4,1794816000000000,'ada','test','create',4,NULL,NULL,'{"key":"retrying","version":1}');
INSERT INTO audit VALUES(5,1794816000000000,'ada','test','create',5,NULL,NULL,'{"key":"completion-running","version":1}');
INSERT INTO audit VALUES(6,1794816000000000,'ada','test','create',6,NULL,NULL,'{"key":"removed-retrying","version":1}');
INSERT INTO audit VALUES(7,1794816000000000,'ada','test','create',7,NULL,NULL,'{"key":"removed-held","version":1}');
INSERT INTO audit VALUES(8,1794816000000000,'ada','test','create',8,NULL,NULL,'{"key":"removed-running","version":1}');
INSERT INTO audit VALUES(9,1794816000000000,'ada','test','create',9,NULL,NULL,'{"key":"sharing","version":1}');
INSERT INTO audit VALUES(10,1794816000000000,'ada','test','create',10,NULL,NULL,'{"key":"paused","version":1}');
INSERT INTO audit VALUES(11,1794816000000000,'ada','test','create',11,NULL,NULL,'{"key":"deleted","version":1}');
INSERT INTO audit VALUES(12,1794816000000000,'ada','test','create',12,NULL,NULL,'{"key":"backfilling","version":1}');
INSERT INTO audit VALUES(13,1794816000000000,'ada','test','create',13,NULL,NULL,'{"key":"prompting","version":1}');
INSERT INTO audit VALUES(14,1794816000000000,'ada','test','create',14,NULL,NULL,'{"key":"prompting-otherwise","version":1}');
INSERT INTO audit VALUES(15,1794816000000000,'ada','test','create',15,NULL,NULL,'{"key":"own-preset","version":1}');
INSERT INTO audit VALUES(16,1794816000000000,'ada','test','create',16,NULL,NULL,'{"key":"calling","version":1}');
INSERT INTO audit VALUES(17,1794830340000000,'ada','cli','pause',10,NULL,'{"status":"active","status_reason":null,"paused_by":null,"next_slot":"2026-11-16T12:00:00Z"}','{"status":"paused","status_reason":"repairs","paused_by":"ada","next_slot":null}');
INSERT INTO audit VALUES(18,1794830340000000,'ada','cli','delete',11,NULL,'{"key":"deleted","version":1}',NULL);
INSERT INTO audit VALUES(19,1794830340000000,'ada','cli','backfill',12,NULL,NULL,'{"backfill":"2026-11-16T08:30:00Z to 2026-11-16T11:30:00Z"}');
-- Triggers and indices on  audit
CREATE INDEX audit_by_age on audit (at);
CREATE INDEX audit_by_schedule on audit (schedule_id, id);
CREATE TRIGGER audit_is_never_changed before update on audit
begin
    select raise(abort, 'what was written into the audit stays');
end;

-- Table  counters
DROP TABLE IF EXISTS counters;
CREATE TABLE counters (
    name text primary key,
    value integer not null
) strict, without rowid;
INSERT INTO counters VALUES('requests',19);
INSERT INTO counters VALUES('schedules',16);

-- Table  daily_stats
DROP TABLE IF EXISTS daily_stats;
CREATE TABLE "daily_stats" (
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

-- Table  events
DROP TABLE IF EXISTS events;
CREATE TABLE events (
    id integer primary key autoincrement,
    kind text not null,
    at integer not null,
    about text not null,
    detail text
) strict;
INSERT INTO events VALUES(1,'schedule.created',1794816000000000,'["hourly"]',NULL);
INSERT INTO events VALUES(2,'schedule.created',1794816000000000,'["repeating"]',NULL);
INSERT INTO events VALUES(3,'schedule.created',1794816000000000,'["one-shot"]',NULL);
INSERT INTO events VALUES(4,'schedule.created',1794816000000000,'["retrying"]',NULL);
INSERT INTO events VALUES(5,'schedule.created',1794816000000000,'["completion-running"]',NULL);
INSERT INTO events VALUES(6,'schedule.created',1794816000000000,'["removed-retrying"]',NULL);
INSERT INTO events VALUES(7,'schedule.created',1794816000000000,'["removed-held"]',NULL);
INSERT INTO events VALUES(8,'schedule.created',1794816000000000,'["removed-running"]',NULL);
INSERT INTO events VALUES(9,'schedule.created',1794816000000000,'["sharing"]',NULL);
INSERT INTO events VALUES(10,'schedule.created',1794816000000000,'["paused"]',NULL);
INSERT INTO events VALUES(11,'schedule.created',1794816000000000,'["deleted"]',NULL);
INSERT INTO events VALUES(12,'schedule.created',1794816000000000,'["backfilling"]',NULL);
INSERT INTO events VALUES(13,'schedule.created',1794816000000000,'["prompting"]',NULL);
INSERT INTO events VALUES(14,'schedule.created',1794816000000000,'["prompting-otherwise"]',NULL);
INSERT INTO events VALUES(15,'schedule.created',1794816000000000,'["own-preset"]',NULL);
INSERT INTO events VALUES(16,'schedule.created',1794816000000000,'["calling"]',NULL);
INSERT INTO events VALUES(17,'run.planned',1794819600000000,'["1-0","2-0","3-0","5-0","6-0","7-0","8-0","10-0","11-0","12-0","13-0","14-0","15-0","16-0"]',NULL);
INSERT INTO events VALUES(18,'slot.skipped',1794819600000000,'["sharing"]','1 slot: max_outstanding_polls polls were already outstanding');
INSERT INTO events VALUES(19,'run.started',1794819600000000,'["1-0","2-0","3-0","5-0","6-0","7-0","8-0","10-0","11-0","12-0","13-0","14-0","15-0","16-0"]',NULL);
INSERT INTO events VALUES(20,'run.succeeded',1794819600000000,'["1-0"]',NULL);
INSERT INTO events VALUES(21,'run.succeeded',1794819600000000,'["2-0"]',NULL);
INSERT INTO events VALUES(22,'run.succeeded',1794819600000000,'["3-0"]',NULL);
INSERT INTO events VALUES(23,'run.succeeded',1794819600000000,'["5-0"]',NULL);
INSERT INTO events VALUES(24,'run.succeeded',1794819600000000,'["6-0"]',NULL);
INSERT INTO events VALUES(25,'run.succeeded',1794819600000000,'["7-0"]',NULL);
INSERT INTO events VALUES(26,'run.succeeded',1794819600000000,'["8-0"]',NULL);
INSERT INTO events VALUES(27,'run.succeeded',1794819600000000,'["10-0"]',NULL);
INSERT INTO events VALUES(28,'run.succeeded',1794819600000000,'["11-0"]',NULL);
INSERT INTO events VALUES(29,'run.succeeded',1794819600000000,'["12-0"]',NULL);
INSERT INTO events VALUES(30,'run.succeeded',1794819600000000,'["13-0"]',NULL);
INSERT INTO events VALUES(31,'run.succeeded',1794819600000000,'["14-0"]',NULL);
INSERT INTO events VALUES(32,'run.succeeded',1794819600000000,'["15-0"]',NULL);
INSERT INTO events VALUES(33,'run.succeeded',1794819600000000,'["16-0"]',NULL);
INSERT INTO events VALUES(34,'run.planned',1794823200000000,'["1-1","2-1","5-1","6-1","7-1","8-1","10-1","12-1","13-1","14-1","15-1","16-1"]',NULL);
INSERT INTO events VALUES(35,'schedule.done',1794823200000000,'["one-shot"]','no_more_slots');
INSERT INTO events VALUES(36,'slot.skipped',1794823200000000,'["sharing"]','2 slots: max_outstanding_polls polls were already outstanding');
INSERT INTO events VALUES(37,'run.started',1794823200000000,'["1-1","2-1","5-1","6-1","7-1","8-1","10-1","12-1","13-1","14-1","15-1","16-1"]',NULL);
INSERT INTO events VALUES(38,'run.succeeded',1794823200000000,'["1-1"]',NULL);
INSERT INTO events VALUES(39,'run.succeeded',1794823200000000,'["2-1"]',NULL);
INSERT INTO events VALUES(40,'run.succeeded',1794823200000000,'["5-1"]',NULL);
INSERT INTO events VALUES(41,'run.succeeded',1794823200000000,'["6-1"]',NULL);
INSERT INTO events VALUES(42,'run.succeeded',1794823200000000,'["7-1"]',NULL);
INSERT INTO events VALUES(43,'run.succeeded',1794823200000000,'["8-1"]',NULL);
INSERT INTO events VALUES(44,'run.succeeded',1794823200000000,'["10-1"]',NULL);
INSERT INTO events VALUES(45,'run.succeeded',1794823200000000,'["12-1"]',NULL);
INSERT INTO events VALUES(46,'run.succeeded',1794823200000000,'["13-1"]',NULL);
INSERT INTO events VALUES(47,'run.succeeded',1794823200000000,'["14-1"]',NULL);
INSERT INTO events VALUES(48,'run.succeeded',1794823200000000,'["15-1"]',NULL);
INSERT INTO events VALUES(49,'run.succeeded',1794823200000000,'["16-1"]',NULL);
INSERT INTO events VALUES(50,'run.planned',1794826800000000,'["1-2","2-2","4-0","5-2","6-2","7-2","8-2","10-2","12-2","13-2","14-2","15-2","16-2"]',NULL);
INSERT INTO events VALUES(51,'slot.skipped',1794826800000000,'["sharing"]','3 slots: max_outstanding_polls polls were already outstanding');
INSERT INTO events VALUES(52,'run.started',1794826800000000,'["1-2","2-2","4-0","5-2","6-2","7-2","8-2","10-2","12-2","13-2","14-2","15-2","16-2"]',NULL);
INSERT INTO events VALUES(53,'schedule.deleted',1794826800000000,'["removed-retrying"]',NULL);
INSERT INTO events VALUES(54,'schedule.deleted',1794826800000000,'["removed-held"]',NULL);
INSERT INTO events VALUES(55,'schedule.deleted',1794826800000000,'["removed-running"]',NULL);
INSERT INTO events VALUES(56,'run.succeeded',1794826800000000,'["1-2"]',NULL);
INSERT INTO events VALUES(57,'run.succeeded',1794826800000000,'["2-2"]',NULL);
INSERT INTO events VALUES(58,'run.retrying',1794826800000000,'["4-0"]',NULL);
INSERT INTO events VALUES(59,'run.failed',1794826800000000,'["6-2"]','the schedule was deleted');
INSERT INTO events VALUES(60,'run.failed',1794826800000000,'["7-2"]','the schedule was deleted');
INSERT INTO events VALUES(61,'gate.open',1794826800000000,'["shared/poll"]','was closed');
INSERT INTO events VALUES(62,'run.succeeded',1794826800000000,'["10-2"]',NULL);
INSERT INTO events VALUES(63,'run.succeeded',1794826800000000,'["12-2"]',NULL);
INSERT INTO events VALUES(64,'run.succeeded',1794826800000000,'["13-2"]',NULL);
INSERT INTO events VALUES(65,'run.succeeded',1794826800000000,'["14-2"]',NULL);
INSERT INTO events VALUES(66,'run.succeeded',1794826800000000,'["15-2"]',NULL);
INSERT INTO events VALUES(67,'run.succeeded',1794826800000000,'["16-2"]',NULL);
INSERT INTO events VALUES(68,'schedule.paused',1794830340000000,'["paused"]','repairs');
INSERT INTO events VALUES(69,'schedule.deleted',1794830340000000,'["deleted"]',NULL);
INSERT INTO events VALUES(70,'run.planned',1794830400000000,'["1-3","2-3","9-0","12-3","13-3","14-3","15-3","16-3"]',NULL);
INSERT INTO events VALUES(71,'gate.half_open',1794830400000000,'["shared/poll"]','was open');
-- Triggers and indices on  events
CREATE INDEX events_by_age on events (at);

-- Table  gate_changes
DROP TABLE IF EXISTS gate_changes;
CREATE TABLE gate_changes (
    id integer primary key autoincrement,
    key text not null,
    at integer not null,
    before text not null,
    after text not null,
    failures integer not null,
    run_id text
) strict;
INSERT INTO gate_changes VALUES(1,'shared/poll',1794826800000000,'closed','open',1,'7-2');
INSERT INTO gate_changes VALUES(2,'shared/poll',1794830400000000,'open','half_open',1,'9-0');
-- Triggers and indices on  gate_changes
CREATE INDEX gate_changes_by_age on gate_changes (at);
CREATE INDEX gate_changes_by_key on gate_changes (key, id);

-- Table  gates
DROP TABLE IF EXISTS gates;
CREATE TABLE gates (
    key text primary key,
    state text not null,
    failures integer not null,
    until integer,
    reset_after integer not null,
    probe text
) strict, without rowid;
INSERT INTO gates VALUES('shared/poll','half_open',1,NULL,600000000,'9-0');

-- Table  metadata
DROP TABLE IF EXISTS metadata;
CREATE TABLE "metadata" (
    name text primary key,
    value text not null
) strict, without rowid;
INSERT INTO metadata VALUES('service_settings','{"declared_only": false, "defaults": {}, "file": null, "limits": {"catchup_stagger_ms": null, "max_catchup_runs": null, "max_consecutive_errors": null, "max_dispatch_per_tick": null, "max_scheduled_jobs": null, "timer_clamp_ms": 60000}, "name": "default", "preset": null, "queues": ["default"], "retention": {"audit_age": 31536000000000, "daily_age": 34560000000000, "event_age": 2592000000000, "output_age": 2592000000000, "run_age": 7776000000000, "run_count": 10000}}');

-- Table  migrations
DROP TABLE IF EXISTS migrations;
CREATE TABLE migrations (number integer primary key, name text, checksum text, applied_at integer) strict;
INSERT INTO migrations VALUES(1,'tables','b5aa02c337a5582746920fe74d6b7358',1794816000000000);
INSERT INTO migrations VALUES(2,'audit','76c30bf7cfd4db471765dfca5eb37216',1794816000000000);
INSERT INTO migrations VALUES(3,'urgency','e3f30109982411700c11e52ead2da8a0',1794816000000000);
INSERT INTO migrations VALUES(4,'daily','8f16295b0f73bc1d01938793ec2facf6',1794816000000000);
INSERT INTO migrations VALUES(5,'held','ba2a2f139978a4794c6cd2a98cd7621c',1794816000000000);
INSERT INTO migrations VALUES(6,'nodes','06f73b7e01ae3419c96a1bfed39bb943',1794816000000000);
INSERT INTO migrations VALUES(7,'close_runs_of_deleted_schedules','c9983b17a2cc41246f3f7f36ed7d2ac5',1794816000000000);
INSERT INTO migrations VALUES(8,'last_slots_and_presets','75e892971e95b846038a0a6ba48142b8',1794816000000000);
INSERT INTO migrations VALUES(9,'plain_names','75b1dcef8d06e79fd2c51a2b7a56e1cb',1794816000000000);
INSERT INTO migrations VALUES(10,'error_codes','837f9a75e5592b82c7e1dd5210756118',1794816000000000);

-- Table  nodes
DROP TABLE IF EXISTS nodes;
CREATE TABLE nodes (
    name text primary key,
    host text not null,
    pid integer not null,
    plans integer not null,
    works integer not null,
    program text not null,
    zone_data text not null,
    declaration text not null,
    revision text not null,
    started_at integer not null,
    seen_at integer not null,
    ahead integer not null
, process text not null default '', capabilities text) strict;

-- Table  outbox
DROP TABLE IF EXISTS outbox;
CREATE TABLE outbox (
    id integer primary key autoincrement,
    kind text not null,
    at integer not null,
    about text not null,
    detail text,
    sent_at integer
) strict;
INSERT INTO outbox VALUES(1,'run.failed',1794826800000000,'["6-2"]','the schedule was deleted',NULL);
INSERT INTO outbox VALUES(2,'run.failed',1794826800000000,'["7-2"]','the schedule was deleted',NULL);
INSERT INTO outbox VALUES(3,'gate.open',1794826800000000,'["shared/poll"]','was closed',NULL);
INSERT INTO outbox VALUES(4,'schedule.paused',1794830340000000,'["paused"]','repairs',NULL);
-- Triggers and indices on  outbox
CREATE INDEX outbox_by_age on outbox (at);
CREATE INDEX outbox_unsent on outbox (id) where sent_at is null;

-- Table  output
DROP TABLE IF EXISTS output;
CREATE TABLE output (
    schedule_id integer not null,
    number integer not null,
    attempt integer not null,
    sequence integer not null,
    at integer not null,
    data blob not null,
    primary key (schedule_id, number, attempt, sequence)
) strict, without rowid;
INSERT INTO output VALUES(1,0,1,0,1794819600000000,X'697420697320390A68616C66206120');
INSERT INTO output VALUES(1,0,1,1,1794819600000000,X'6C696E650A00FF');
INSERT INTO output VALUES(1,1,1,0,1794823200000000,X'69742069732031300A68616C66206120');
INSERT INTO output VALUES(1,1,1,1,1794823200000000,X'6C696E650A00FF');
INSERT INTO output VALUES(1,2,1,0,1794826800000000,X'69742069732031310A68616C66206120');
INSERT INTO output VALUES(1,2,1,1,1794826800000000,X'6C696E650A00FF');
-- Triggers and indices on  output
CREATE INDEX output_by_age on output (at);

-- Table  planner_state
DROP TABLE IF EXISTS planner_state;
CREATE TABLE "planner_state" (
    id integer primary key check (id = 1),
    last_look integer,
    outage text,
    pace text not null
, agents text) strict;
INSERT INTO planner_state VALUES(1,1794830400000000,'[1794826800000000,1794830400000000,0,0]','[0,0,0]','[[1794826800000000,1794830400000000,0,0],[1794830400,2,0]]');

-- Table  runs
DROP TABLE IF EXISTS runs;
CREATE TABLE runs (
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
    result text, repeat integer not null default 0, code text,
    primary key (schedule_id, number)
) strict, without rowid;
INSERT INTO runs VALUES(1,0,'slot',1794819600000000,1794819600000000,1794819600000000,'1',NULL,1,0,'succeeded',NULL,0,'default',0,1,0,0,'w1',1794819600000000,1794819610000000,1794819600000000,NULL,NULL,NULL,0,NULL);
INSERT INTO runs VALUES(1,1,'slot',1794823200000000,1794823200000000,1794823200000000,'1',NULL,1,0,'succeeded',NULL,0,'default',0,1,0,0,'w1',1794823200000000,1794823210000000,1794823200000000,NULL,NULL,NULL,1,NULL);
INSERT INTO runs VALUES(1,2,'slot',1794826800000000,1794826800000000,1794826800000000,'1',NULL,1,0,'succeeded',NULL,0,'default',0,1,0,0,'w1',1794826800000000,1794826810000000,1794826800000000,NULL,NULL,NULL,2,NULL);
INSERT INTO runs VALUES(1,3,'slot',1794830400000000,1794830400000000,1794830400000000,'1',NULL,1,0,'queued',NULL,0,'default',0,0,0,0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,3,NULL);
INSERT INTO runs VALUES(2,0,'slot',1794819600000000,1794819600000000,1794819600000000,'2',NULL,1,0,'succeeded',NULL,0,'default',0,1,0,0,'w1',1794819600000000,1794819610000000,1794819600000000,NULL,NULL,NULL,0,NULL);
INSERT INTO runs VALUES(2,1,'slot',1794823200000000,1794823200000000,1794823200000000,'2',NULL,1,0,'succeeded',NULL,0,'default',0,1,0,0,'w1',1794823200000000,1794823210000000,1794823200000000,NULL,NULL,NULL,1,NULL);
INSERT INTO runs VALUES(2,2,'slot',1794826800000000,1794826800000000,1794826800000000,'2',NULL,1,0,'succeeded',NULL,0,'default',0,1,0,0,'w1',1794826800000000,1794826810000000,1794826800000000,NULL,NULL,NULL,2,NULL);
INSERT INTO runs VALUES(2,3,'slot',1794830400000000,1794830400000000,1794830400000000,'2',NULL,1,0,'queued',NULL,0,'default',0,0,0,0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,3,NULL);
INSERT INTO runs VALUES(3,0,'slot',1794819600000000,1794819600000000,1794819600000000,'3',NULL,1,0,'succeeded',NULL,0,'default',0,1,0,0,'w1',1794819600000000,1794819610000000,1794819600000000,NULL,NULL,NULL,0,NULL);
INSERT INTO runs VALUES(4,0,'slot',1794826800000000,1794834000000000,1794826800000000,'4',NULL,1,0,'queued',NULL,0,'default',0,1,1,0,NULL,1794826800000000,NULL,NULL,NULL,NULL,NULL,0,NULL);
INSERT INTO runs VALUES(5,0,'slot',1794819600000000,1794819600000000,1794819600000000,'5',NULL,1,0,'succeeded',NULL,0,'default',0,1,0,0,'w1',1794819600000000,1794819610000000,1794819600000000,NULL,NULL,NULL,0,NULL);
INSERT INTO runs VALUES(5,1,'slot',1794823200000000,1794823200000000,1794823200000000,'5',NULL,1,0,'succeeded',NULL,0,'default',0,1,0,0,'w1',1794823200000000,1794823210000000,1794823200000000,NULL,NULL,NULL,1,NULL);
INSERT INTO runs VALUES(5,2,'slot',1794826800000000,1794826800000000,1794826800000000,'5',NULL,1,0,'running',NULL,0,'default',0,1,0,0,'w1',1794826800000000,1794826810000000,NULL,NULL,NULL,NULL,2,NULL);
INSERT INTO runs VALUES(6,0,'slot',1794819600000000,1794819600000000,1794819600000000,'6',NULL,1,0,'succeeded',NULL,0,'default',0,1,0,0,'w1',1794819600000000,1794819610000000,1794819600000000,NULL,NULL,NULL,0,NULL);
INSERT INTO runs VALUES(6,1,'slot',1794823200000000,1794823200000000,1794823200000000,'6',NULL,1,0,'succeeded',NULL,0,'default',0,1,0,0,'w1',1794823200000000,1794823210000000,1794823200000000,NULL,NULL,NULL,1,NULL);
INSERT INTO runs VALUES(6,2,'slot',1794826800000000,1794826800000000,1794826800000000,'6',NULL,1,0,'failed','deleted',0,'default',0,1,1,0,'w1',1794826800000000,1794826810000000,1794826800000000,NULL,NULL,NULL,2,NULL);
INSERT INTO runs VALUES(7,0,'slot',1794819600000000,1794819600000000,1794819600000000,'shared/poll','shared/poll',1,0,'succeeded',NULL,0,'default',0,1,0,0,'w1',1794819600000000,1794819610000000,1794819600000000,NULL,NULL,NULL,0,NULL);
INSERT INTO runs VALUES(7,1,'slot',1794823200000000,1794823200000000,1794823200000000,'shared/poll','shared/poll',1,0,'succeeded',NULL,0,'default',0,1,0,0,'w1',1794823200000000,1794823210000000,1794823200000000,NULL,NULL,NULL,1,NULL);
INSERT INTO runs VALUES(7,2,'slot',1794826800000000,1794826800000000,1794826800000000,'shared/poll','shared/poll',1,0,'failed','deleted',0,'default',0,1,1,0,'w1',1794826800000000,1794826810000000,1794826800000000,NULL,NULL,NULL,2,NULL);
INSERT INTO runs VALUES(8,0,'slot',1794819600000000,1794819600000000,1794819600000000,'8',NULL,1,0,'succeeded',NULL,0,'default',0,1,0,0,'w1',1794819600000000,1794819610000000,1794819600000000,NULL,NULL,NULL,0,NULL);
INSERT INTO runs VALUES(8,1,'slot',1794823200000000,1794823200000000,1794823200000000,'8',NULL,1,0,'succeeded',NULL,0,'default',0,1,0,0,'w1',1794823200000000,1794823210000000,1794823200000000,NULL,NULL,NULL,1,NULL);
INSERT INTO runs VALUES(8,2,'slot',1794826800000000,1794826800000000,1794826800000000,'8',NULL,1,0,'running',NULL,0,'default',0,1,0,0,'w1',1794826800000000,1794826810000000,NULL,NULL,NULL,NULL,2,NULL);
INSERT INTO runs VALUES(9,0,'slot',1794830400000000,1794830400000000,1794830400000000,'shared/poll','shared/poll',1,0,'queued',NULL,0,'default',0,0,0,0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,0,NULL);
INSERT INTO runs VALUES(10,0,'slot',1794819600000000,1794819600000000,1794819600000000,'10',NULL,1,0,'succeeded',NULL,0,'default',0,1,0,0,'w1',1794819600000000,1794819610000000,1794819600000000,NULL,NULL,NULL,0,NULL);
INSERT INTO runs VALUES(10,1,'slot',1794823200000000,1794823200000000,1794823200000000,'10',NULL,1,0,'succeeded',NULL,0,'default',0,1,0,0,'w1',1794823200000000,1794823210000000,1794823200000000,NULL,NULL,NULL,1,NULL);
INSERT INTO runs VALUES(10,2,'slot',1794826800000000,1794826800000000,1794826800000000,'10',NULL,1,0,'succeeded',NULL,0,'default',0,1,0,0,'w1',1794826800000000,1794826810000000,1794826800000000,NULL,NULL,NULL,2,NULL);
INSERT INTO runs VALUES(11,0,'slot',1794819600000000,1794819600000000,1794819600000000,'11',NULL,1,0,'succeeded',NULL,0,'default',0,1,0,0,'w1',1794819600000000,1794819610000000,1794819600000000,NULL,NULL,NULL,0,NULL);
INSERT INTO runs VALUES(12,0,'slot',1794819600000000,1794819600000000,1794819600000000,'p/poll','p/poll',1,0,'succeeded',NULL,0,'default',0,1,0,0,'w1',1794819600000000,1794819610000000,1794819600000000,NULL,NULL,NULL,0,NULL);
INSERT INTO runs VALUES(12,1,'slot',1794823200000000,1794823200000000,1794823200000000,'p/poll','p/poll',1,0,'succeeded',NULL,0,'default',0,1,0,0,'w1',1794823200000000,1794823210000000,1794823200000000,NULL,NULL,NULL,1,NULL);
INSERT INTO runs VALUES(12,2,'slot',1794826800000000,1794826800000000,1794826800000000,'p/poll','p/poll',1,0,'succeeded',NULL,0,'default',0,1,0,0,'w1',1794826800000000,1794826810000000,1794826800000000,NULL,NULL,NULL,2,NULL);
INSERT INTO runs VALUES(12,3,'slot',1794830400000000,1794830400000000,1794830400000000,'p/poll','p/poll',1,0,'queued',NULL,0,'default',0,0,0,0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,3,NULL);
INSERT INTO runs VALUES(13,0,'slot',1794819600000000,1794819600000000,1794819600000000,'13',NULL,1,0,'succeeded',NULL,0,'default',0,1,0,0,'w1',1794819600000000,1794819610000000,1794819600000000,NULL,NULL,NULL,0,NULL);
INSERT INTO runs VALUES(13,1,'slot',1794823200000000,1794823200000000,1794823200000000,'13',NULL,1,0,'succeeded',NULL,0,'default',0,1,0,0,'w1',1794823200000000,1794823210000000,1794823200000000,NULL,NULL,NULL,1,NULL);
INSERT INTO runs VALUES(13,2,'slot',1794826800000000,1794826800000000,1794826800000000,'13',NULL,1,0,'succeeded',NULL,0,'default',0,1,0,0,'w1',1794826800000000,1794826810000000,1794826800000000,NULL,NULL,NULL,2,NULL);
INSERT INTO runs VALUES(13,3,'slot',1794830400000000,1794830400000000,1794830400000000,'13',NULL,1,0,'queued',NULL,0,'default',0,0,0,0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,3,NULL);
INSERT INTO runs VALUES(14,0,'slot',1794819600000000,1794819600000000,1794819600000000,'14','schedule/14',1,0,'succeeded',NULL,0,'default',0,1,0,0,'w1',1794819600000000,1794819610000000,1794819600000000,NULL,NULL,NULL,0,NULL);
INSERT INTO runs VALUES(14,1,'slot',1794823200000000,1794823200000000,1794823200000000,'14','schedule/14',1,0,'succeeded',NULL,0,'default',0,1,0,0,'w1',1794823200000000,1794823210000000,1794823200000000,NULL,NULL,NULL,1,NULL);
INSERT INTO runs VALUES(14,2,'slot',1794826800000000,1794826800000000,1794826800000000,'14','schedule/14',1,0,'succeeded',NULL,0,'default',0,1,0,0,'w1',1794826800000000,1794826810000000,1794826800000000,NULL,NULL,NULL,2,NULL);
INSERT INTO runs VALUES(14,3,'slot',1794830400000000,1794830400000000,1794830400000000,'14','schedule/14',1,0,'queued',NULL,0,'default',0,0,0,0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,3,NULL);
INSERT INTO runs VALUES(15,0,'slot',1794819600000000,1794819600000000,1794819600000000,'15',NULL,1,0,'succeeded',NULL,0,'default',0,1,0,0,'w1',1794819600000000,1794819610000000,1794819600000000,NULL,NULL,NULL,0,NULL);
INSERT INTO runs VALUES(15,1,'slot',1794823200000000,1794823200000000,1794823200000000,'15',NULL,1,0,'succeeded',NULL,0,'default',0,1,0,0,'w1',1794823200000000,1794823210000000,1794823200000000,NULL,NULL,NULL,1,NULL);
INSERT INTO runs VALUES(15,2,'slot',1794826800000000,1794826800000000,1794826800000000,'15',NULL,1,0,'succeeded',NULL,0,'default',0,1,0,0,'w1',1794826800000000,1794826810000000,1794826800000000,NULL,NULL,NULL,2,NULL);
INSERT INTO runs VALUES(15,3,'slot',1794830400000000,1794830400000000,1794830400000000,'15',NULL,1,0,'queued',NULL,0,'default',0,0,0,0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,3,NULL);
INSERT INTO runs VALUES(16,0,'slot',1794819600000000,1794819600000000,1794819600000000,'16',NULL,1,0,'succeeded',NULL,0,'default',0,1,0,0,'w1',1794819600000000,1794819610000000,1794819600000000,NULL,NULL,NULL,0,NULL);
INSERT INTO runs VALUES(16,1,'slot',1794823200000000,1794823200000000,1794823200000000,'16',NULL,1,0,'succeeded',NULL,0,'default',0,1,0,0,'w1',1794823200000000,1794823210000000,1794823200000000,NULL,NULL,NULL,1,NULL);
INSERT INTO runs VALUES(16,2,'slot',1794826800000000,1794826800000000,1794826800000000,'16',NULL,1,0,'succeeded',NULL,0,'default',0,1,0,0,'w1',1794826800000000,1794826810000000,1794826800000000,NULL,NULL,NULL,2,NULL);
INSERT INTO runs VALUES(16,3,'slot',1794830400000000,1794830400000000,1794830400000000,'16',NULL,1,0,'queued',NULL,0,'default',0,0,0,0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,3,NULL);
-- Triggers and indices on  runs
CREATE UNIQUE INDEX runs_by_slot on runs (schedule_id, slot, request);
CREATE INDEX runs_finished on runs (finished_at) where finished_at is not null;
CREATE INDEX runs_held on runs (scope, schedule_id, number) where state = 'held';
CREATE INDEX runs_open on runs (scope) where finished_at is null;
CREATE INDEX runs_planned on runs (planned_at);
CREATE INDEX runs_queued on runs (queue, priority desc, ready_at) where state = 'queued';
CREATE INDEX runs_running on runs (lease_until) where state = 'running';

-- Table  schedules
DROP TABLE IF EXISTS schedules;
CREATE TABLE schedules (
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
    last_slot integer,
    last_success_at integer,
    last_success_run_id text,
    last_failure_at integer,
    not_run text,
    backfill text,
    name text,
    owner text,
    origin text not null,
    updated_at integer not null,
    deleted_at integer
, priority integer not null default 0, last_fired_at integer, preset text) strict;
INSERT INTO schedules VALUES(1,'hourly',1794816000000000,1794816000000000,1794830400000000,1,'active',NULL,NULL,NULL,1794834000000000,1794834000000000,4,3,3,0,0,0,NULL,'ok','1-3',1794830400000000,1794826800000000,'1-2',NULL,NULL,NULL,NULL,NULL,'test',1794816000000000,NULL,0,1794830400000000,NULL);
INSERT INTO schedules VALUES(2,'repeating',1794816000000000,1794816000000000,1794830400000000,1,'active',NULL,NULL,NULL,1794834000000000,1794834000000000,4,3,3,0,0,0,NULL,'ok','2-3',1794830400000000,1794826800000000,'2-2',NULL,NULL,NULL,NULL,NULL,'test',1794816000000000,NULL,0,1794830400000000,NULL);
INSERT INTO schedules VALUES(3,'one-shot',1794816000000000,1794816000000000,1794823200000000,1,'done','no_more_slots',NULL,NULL,NULL,NULL,1,1,1,0,0,0,NULL,'ok','3-0',1794819600000000,1794819600000000,'3-0',NULL,NULL,NULL,NULL,NULL,'test',1794816000000000,NULL,0,1794819600000000,NULL);
INSERT INTO schedules VALUES(4,'retrying',1794816000000000,1794816000000000,1794826800000000,1,'active',NULL,NULL,NULL,1794837600000000,1794837600000000,1,0,0,1,1,1,'the attempt failed without an error message','error','4-0',1794826800000000,NULL,NULL,1794826800000000,NULL,NULL,NULL,NULL,'test',1794816000000000,NULL,0,1794826800000000,NULL);
INSERT INTO schedules VALUES(5,'completion-running',1794816000000000,1794823200000000,1794826800000000,1,'active',NULL,NULL,NULL,NULL,NULL,3,2,2,0,0,0,NULL,'ok','5-2',1794826800000000,1794823200000000,'5-1',NULL,NULL,NULL,NULL,NULL,'test',1794816000000000,NULL,0,1794826800000000,NULL);
INSERT INTO schedules VALUES(6,'removed-retrying',1794816000000000,1794816000000000,1794826800000000,1,'active',NULL,NULL,NULL,NULL,NULL,3,2,2,0,0,0,NULL,'ok','6-2',1794826800000000,1794823200000000,'6-1',NULL,NULL,NULL,NULL,NULL,'test',1794816000000000,1794826800000000,0,1794826800000000,NULL);
INSERT INTO schedules VALUES(7,'removed-held',1794816000000000,1794816000000000,1794826800000000,1,'active',NULL,NULL,NULL,NULL,NULL,3,2,2,0,0,0,NULL,'ok','7-2',1794826800000000,1794823200000000,'7-1',NULL,NULL,NULL,NULL,NULL,'test',1794816000000000,1794826800000000,0,1794826800000000,'ductile');
INSERT INTO schedules VALUES(8,'removed-running',1794816000000000,1794816000000000,1794826800000000,1,'active',NULL,NULL,NULL,NULL,NULL,3,2,2,0,0,0,NULL,'ok','8-2',1794826800000000,1794823200000000,'8-1',NULL,NULL,NULL,NULL,NULL,'test',1794816000000000,1794826800000000,0,1794826800000000,NULL);
INSERT INTO schedules VALUES(9,'sharing',1794816000000000,1794816000000000,1794830400000000,1,'active',NULL,NULL,NULL,1794834000000000,1794834000000000,1,0,0,0,0,0,NULL,NULL,'9-0',1794830400000000,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'test',1794816000000000,NULL,0,1794830400000000,'ductile');
INSERT INTO schedules VALUES(10,'paused',1794816000000000,1794816000000000,1794830340000000,1,'paused','repairs','ada',NULL,NULL,NULL,3,3,3,0,0,0,NULL,'ok','10-2',1794826800000000,1794826800000000,'10-2',NULL,NULL,NULL,NULL,NULL,'test',1794816000000000,NULL,0,1794826800000000,NULL);
INSERT INTO schedules VALUES(11,'deleted',1794816000000000,1794816000000000,1794830340000000,1,'active',NULL,NULL,NULL,NULL,NULL,1,1,1,0,0,0,NULL,'ok','11-0',1794819600000000,1794819600000000,'11-0',NULL,NULL,NULL,NULL,NULL,'test',1794816000000000,1794830340000000,0,1794819600000000,NULL);
INSERT INTO schedules VALUES(12,'backfilling',1794816000000000,1794816000000000,1794830400000000,1,'active',NULL,NULL,NULL,1794834000000000,1794834000000000,4,3,3,0,0,0,NULL,'ok','12-3',1794830400000000,1794826800000000,'12-2',NULL,NULL,'[19,1794817799999999,1794828600000000]',NULL,NULL,'test',1794816000000000,NULL,0,1794830400000000,'ductile');
INSERT INTO schedules VALUES(13,'prompting',1794816000000000,1794816000000000,1794830400000000,1,'active',NULL,NULL,NULL,1794834000000000,1794834000000000,4,3,3,0,0,0,NULL,'ok','13-3',1794830400000000,1794826800000000,'13-2',NULL,NULL,NULL,NULL,NULL,'test',1794816000000000,NULL,0,1794830400000000,'agent');
INSERT INTO schedules VALUES(14,'prompting-otherwise',1794816000000000,1794816000000000,1794830400000000,1,'active',NULL,NULL,NULL,1794834000000000,1794834000000000,4,3,3,0,0,0,NULL,'ok','14-3',1794830400000000,1794826800000000,'14-2',NULL,NULL,NULL,NULL,NULL,'test',1794816000000000,NULL,0,1794830400000000,'ductile');
INSERT INTO schedules VALUES(15,'own-preset',1794816000000000,1794816000000000,1794830400000000,1,'active',NULL,NULL,NULL,1794834000000000,1794834000000000,4,3,3,0,0,0,NULL,'ok','15-3',1794830400000000,1794826800000000,'15-2',NULL,NULL,NULL,NULL,NULL,'test',1794816000000000,NULL,0,1794830400000000,'agent');
INSERT INTO schedules VALUES(16,'calling',1794816000000000,1794826800000000,1794830400000000,1,'active',NULL,NULL,NULL,NULL,NULL,4,3,3,0,0,0,NULL,'ok','16-3',1794830400000000,1794826800000000,'16-2',NULL,NULL,NULL,NULL,NULL,'test',1794816000000000,NULL,0,1794830400000000,'pipelit');
-- Triggers and indices on  schedules
CREATE UNIQUE INDEX schedules_by_key on schedules (key) where deleted_at is null;
CREATE INDEX schedules_by_name on schedules (name) where name is not null and deleted_at is null;
CREATE INDEX schedules_by_owner on schedules (owner, key) where owner is not null;
CREATE INDEX schedules_by_preset on schedules (preset)
where preset is not null and deleted_at is null;
CREATE INDEX schedules_by_wake on schedules (sign(priority), wake_at) where wake_at is not null;

-- Table  slots_not_run
DROP TABLE IF EXISTS slots_not_run;
CREATE TABLE "slots_not_run" (
    schedule_id integer not null,
    first integer not null,
    last integer not null,
    count integer not null,
    reason text not null,
    primary key (schedule_id, first)
) strict, without rowid;
INSERT INTO slots_not_run VALUES(9,1794819600000000,1794826800000000,3,'outstanding_polls');
-- Triggers and indices on  slots_not_run
CREATE INDEX slots_not_run_by_age on slots_not_run (last);

-- Table  specifications
DROP TABLE IF EXISTS specifications;
CREATE TABLE specifications (
    schedule_id integer not null,
    version integer not null,
    hash text not null,
    body text not null,
    created_at integer not null, service_preset text,
    primary key (schedule_id, version)
) strict, without rowid;
INSERT INTO specifications VALUES(1,1,'d7ba90ae0c70214014bd140c6b06f0e6','{"anchor":"slot","args":[],"catch_up":"run_once","catch_up_window":null,"circuit_breaker":"off","delete_after_run":false,"description":null,"dst_fold":"once","dst_gap":"after","enabled":true,"every":"1h","execution":"at_least_once","first_run":"slot","grace":"1m","if_running":"skip","jitter":0,"kwargs":{},"max_catch_up_runs":100,"max_consecutive_errors":0,"max_outstanding_polls":0,"max_retries":0,"name":null,"not_on":[],"on_constraint":"drop","on_exhausted":"continue","only_between":null,"payload":{},"priority":0,"queue":"default","queue_limit":1000,"retry_backoff":"exponential","retry_delay":null,"slot_preempts_retry":false,"tags":[],"task":"work","timeout":"10m","timezone":"UTC","total_repeats":0}',1794816000000000,NULL);
INSERT INTO specifications VALUES(2,1,'0badbca3966ca191e3e75ca82d4e906e','{"anchor":"slot","args":[],"catch_up":"run_once","catch_up_window":null,"circuit_breaker":"off","delete_after_run":false,"description":null,"dst_fold":"once","dst_gap":"after","enabled":true,"every":"1h","execution":"at_least_once","first_run":"slot","grace":"1m","if_running":"skip","jitter":0,"kwargs":{},"max_catch_up_runs":100,"max_consecutive_errors":0,"max_outstanding_polls":0,"max_retries":0,"name":null,"not_on":[],"on_constraint":"drop","on_exhausted":"continue","only_between":null,"payload":{},"priority":0,"queue":"default","queue_limit":1000,"retry_backoff":"exponential","retry_delay":null,"slot_preempts_retry":false,"tags":[],"task":"work","timeout":"10m","timezone":"UTC","total_repeats":9}',1794816000000000,NULL);
INSERT INTO specifications VALUES(3,1,'2a2a2cec0954a726297861604c47d306','{"args":[],"at":"2026-11-16T09:00:00Z","catch_up":"run_once","catch_up_window":null,"circuit_breaker":"off","delete_after_run":false,"description":null,"enabled":true,"execution":"at_least_once","first_run":"slot","grace":"1m","if_running":"skip","jitter":0,"kwargs":{},"max_catch_up_runs":100,"max_consecutive_errors":0,"max_outstanding_polls":0,"max_retries":0,"name":null,"not_on":[],"on_constraint":"drop","on_exhausted":"continue","only_between":null,"payload":{},"priority":0,"queue":"default","queue_limit":1000,"retry_backoff":"exponential","retry_delay":null,"slot_preempts_retry":false,"tags":[],"task":"work","timeout":"10m","timezone":"UTC","total_repeats":0}',1794816000000000,NULL);
INSERT INTO specifications VALUES(4,1,'cc3a94c5ad0af9777208f09c36f16396','{"anchor":"slot","args":[],"catch_up":"run_once","catch_up_window":null,"circuit_breaker":"off","delete_after_run":false,"description":null,"dst_fold":"once","dst_gap":"after","enabled":true,"every":"3h","execution":"at_least_once","first_run":"slot","grace":"1m","if_running":"skip","jitter":0,"kwargs":{},"max_catch_up_runs":100,"max_consecutive_errors":0,"max_outstanding_polls":0,"max_retries":3,"name":null,"not_on":[],"on_constraint":"drop","on_exhausted":"continue","only_between":null,"payload":{},"priority":0,"queue":"default","queue_limit":1000,"retry_backoff":"exponential","retry_delay":"2h","slot_preempts_retry":false,"tags":[],"task":"work","timeout":"10m","timezone":"UTC","total_repeats":0}',1794816000000000,NULL);
INSERT INTO specifications VALUES(5,1,'34876e8b373d8116893b04c1fa0bbf40','{"anchor":"completion","args":[],"catch_up":"run_once","catch_up_window":null,"circuit_breaker":"off","delete_after_run":false,"description":null,"dst_fold":"once","dst_gap":"after","enabled":true,"every":"1h","execution":"at_least_once","first_run":"slot","grace":"1m","if_running":"skip","jitter":0,"kwargs":{},"max_catch_up_runs":100,"max_consecutive_errors":0,"max_outstanding_polls":0,"max_retries":0,"name":null,"not_on":[],"on_constraint":"drop","on_exhausted":"continue","only_between":null,"payload":{},"priority":0,"queue":"default","queue_limit":1000,"retry_backoff":"exponential","retry_delay":null,"slot_preempts_retry":false,"tags":[],"task":"work","timeout":"10m","timezone":"UTC","total_repeats":0}',1794816000000000,NULL);
INSERT INTO specifications VALUES(6,1,'da3eac1605e7120291c918ef4a762e13','{"anchor":"slot","args":[],"catch_up":"run_once","catch_up_window":null,"circuit_breaker":"off","delete_after_run":false,"description":null,"dst_fold":"once","dst_gap":"after","enabled":true,"every":"1h","execution":"at_least_once","first_run":"slot","grace":"1m","if_running":"skip","jitter":0,"kwargs":{},"max_catch_up_runs":100,"max_consecutive_errors":0,"max_outstanding_polls":0,"max_retries":3,"name":null,"not_on":[],"on_constraint":"drop","on_exhausted":"continue","only_between":null,"payload":{},"priority":0,"queue":"default","queue_limit":1000,"retry_backoff":"exponential","retry_delay":null,"slot_preempts_retry":false,"tags":[],"task":"work","timeout":"10m","timezone":"UTC","total_repeats":0}',1794816000000000,NULL);
INSERT INTO specifications VALUES(7,1,'a0529e1fa8955696ca3142a2e17c8ee4','{"anchor":"slot","catch_up":"skip","catch_up_window":null,"circuit_breaker":{"reset_after":"10m","threshold":1},"command":"poll","delete_after_run":false,"description":null,"dst_fold":"once","dst_gap":"after","enabled":true,"every":"1h","execution":"at_least_once","first_run":"slot","grace":"1m","if_running":"skip","jitter":0,"max_catch_up_runs":100,"max_consecutive_errors":0,"max_outstanding_polls":1,"max_retries":3,"name":null,"not_on":[],"on_constraint":"drop","on_exhausted":"continue","only_between":null,"payload":{},"plugin":"shared","priority":0,"queue":"default","queue_limit":1000,"retry_backoff":"exponential","retry_delay":null,"slot_preempts_retry":false,"tags":[],"timeout":"1m","timezone":"UTC","total_repeats":0}',1794816000000000,NULL);
INSERT INTO specifications VALUES(8,1,'95189c2fd03ce462953da22172a57c84','{"anchor":"slot","args":[],"catch_up":"run_once","catch_up_window":null,"circuit_breaker":"off","delete_after_run":false,"description":null,"dst_fold":"once","dst_gap":"after","enabled":true,"every":"1h","execution":"at_least_once","first_run":"slot","grace":"1m","if_running":"skip","jitter":0,"kwargs":{},"max_catch_up_runs":100,"max_consecutive_errors":0,"max_outstanding_polls":0,"max_retries":"endless","name":null,"not_on":[],"on_constraint":"drop","on_exhausted":"continue","only_between":null,"payload":{},"priority":0,"queue":"default","queue_limit":1000,"retry_backoff":"exponential","retry_delay":null,"slot_preempts_retry":false,"tags":[],"task":"work","timeout":"10m","timezone":"UTC","total_repeats":0}',1794816000000000,NULL);
INSERT INTO specifications VALUES(9,1,'5bb776cfd5443ac4930e2d25bdfc7042','{"anchor":"slot","catch_up":"skip","catch_up_window":null,"circuit_breaker":{"reset_after":"10m","threshold":1},"command":"poll","delete_after_run":false,"description":null,"dst_fold":"once","dst_gap":"after","enabled":true,"every":"1h","execution":"at_least_once","first_run":"slot","grace":"1m","if_running":"queue","jitter":0,"max_catch_up_runs":100,"max_consecutive_errors":0,"max_outstanding_polls":1,"max_retries":0,"name":null,"not_on":[],"on_constraint":"drop","on_exhausted":"continue","only_between":null,"payload":{},"plugin":"shared","priority":0,"queue":"default","queue_limit":1000,"retry_backoff":"exponential","retry_delay":null,"slot_preempts_retry":false,"tags":[],"timeout":"1m","timezone":"UTC","total_repeats":0}',1794816000000000,NULL);
INSERT INTO specifications VALUES(10,1,'6535dc50bf26be4905884903abfcd30a','{"args":[],"catch_up":"run_once","catch_up_window":null,"circuit_breaker":"off","cron":"0 * * * *","delete_after_run":false,"description":null,"dialect":"standard","dst_fold":"once","dst_gap":"after","enabled":true,"execution":"at_least_once","first_run":"slot","grace":"1m","if_running":"skip","jitter":0,"kwargs":{},"max_catch_up_runs":100,"max_consecutive_errors":0,"max_outstanding_polls":0,"max_retries":0,"name":null,"not_on":[],"on_constraint":"drop","on_exhausted":"continue","only_between":null,"payload":{},"priority":0,"queue":"default","queue_limit":1000,"retry_backoff":"exponential","retry_delay":null,"slot_preempts_retry":false,"tags":[],"task":"work","timeout":"10m","timezone":"UTC","total_repeats":0}',1794816000000000,NULL);
INSERT INTO specifications VALUES(11,1,'7546014e45571b987aacb092b1bb4888','{"args":[],"catch_up":"run_once","catch_up_window":null,"circuit_breaker":"off","daily":{"time":"09:00:00"},"delete_after_run":false,"description":null,"dst_fold":"once","dst_gap":"after","enabled":true,"execution":"at_least_once","first_run":"slot","grace":"1m","if_running":"skip","jitter":0,"kwargs":{},"max_catch_up_runs":100,"max_consecutive_errors":0,"max_outstanding_polls":0,"max_retries":0,"name":null,"not_on":[],"on_constraint":"drop","on_exhausted":"continue","only_between":null,"payload":{},"priority":0,"queue":"default","queue_limit":1000,"retry_backoff":"exponential","retry_delay":null,"slot_preempts_retry":false,"tags":[],"task":"work","timeout":"10m","timezone":"UTC","total_repeats":0}',1794816000000000,NULL);
INSERT INTO specifications VALUES(12,1,'4aeade99d35c9cc3260eb980d1ec99a7','{"anchor":"slot","catch_up":"skip","catch_up_window":null,"circuit_breaker":{"reset_after":"30m","threshold":3},"command":"poll","delete_after_run":false,"description":null,"dst_fold":"once","dst_gap":"after","enabled":true,"every":"1h","execution":"at_least_once","first_run":"slot","grace":"1m","if_running":"skip","jitter":0,"max_catch_up_runs":100,"max_consecutive_errors":0,"max_outstanding_polls":0,"max_retries":0,"name":null,"not_on":[],"on_constraint":"drop","on_exhausted":"continue","only_between":null,"payload":{},"plugin":"p","priority":0,"queue":"default","queue_limit":1000,"retry_backoff":"exponential","retry_delay":null,"slot_preempts_retry":false,"tags":[],"timeout":"1m","timezone":"UTC","total_repeats":0}',1794816000000000,NULL);
INSERT INTO specifications VALUES(13,1,'679a2f22877914f3131773cfab99ee72','{"anchor":"slot","catch_up":"run_once","catch_up_window":null,"circuit_breaker":"off","delete_after_run":false,"description":null,"dst_fold":"once","dst_gap":"after","enabled":true,"every":"1h","execution":"at_least_once","first_run":"slot","grace":"1m","if_running":"skip","jitter":0,"max_catch_up_runs":100,"max_consecutive_errors":10,"max_outstanding_polls":0,"max_retries":0,"model":null,"name":null,"not_on":[],"on_constraint":"drop","on_exhausted":"continue","only_between":null,"opts":{},"payload":{},"priority":0,"prompt":"Check the queue","queue":"default","queue_limit":1000,"retry_backoff":"exponential","retry_delay":null,"slot_preempts_retry":false,"tags":[],"timeout":"10m","timezone":"UTC","total_repeats":0}',1794816000000000,NULL);
INSERT INTO specifications VALUES(14,1,'a5f3d55dbe7d3df50c2af033b50e0379','{"anchor":"slot","catch_up":"skip","catch_up_window":null,"circuit_breaker":{"reset_after":"30m","threshold":3},"delete_after_run":false,"description":null,"dst_fold":"once","dst_gap":"after","enabled":true,"every":"1h","execution":"at_least_once","first_run":"slot","grace":"1m","if_running":"skip","jitter":0,"max_catch_up_runs":100,"max_consecutive_errors":0,"max_outstanding_polls":0,"max_retries":0,"model":null,"name":null,"not_on":[],"on_constraint":"drop","on_exhausted":"continue","only_between":null,"opts":{},"payload":{},"preset":"ductile","priority":0,"prompt":"Look","queue":"default","queue_limit":1000,"retry_backoff":"exponential","retry_delay":null,"slot_preempts_retry":false,"tags":[],"timeout":"1m","timezone":"UTC","total_repeats":0}',1794816000000000,NULL);
INSERT INTO specifications VALUES(15,1,'65aab7a9204723d281359efcca4277a1','{"anchor":"slot","args":[],"catch_up":"run_once","catch_up_window":null,"circuit_breaker":"off","delete_after_run":false,"description":null,"dst_fold":"once","dst_gap":"after","enabled":true,"every":"1h","execution":"at_least_once","first_run":"slot","grace":"1m","if_running":"skip","jitter":0,"kwargs":{},"max_catch_up_runs":100,"max_consecutive_errors":10,"max_outstanding_polls":0,"max_retries":0,"name":null,"not_on":[],"on_constraint":"drop","on_exhausted":"continue","only_between":null,"payload":{},"preset":"agent","priority":0,"queue":"default","queue_limit":1000,"retry_backoff":"exponential","retry_delay":null,"slot_preempts_retry":false,"tags":[],"task":"work","timeout":"10m","timezone":"UTC","total_repeats":0}',1794816000000000,NULL);
INSERT INTO specifications VALUES(16,1,'b940f324f7c89a9b40b98139335f981f','{"anchor":"completion","catch_up":"run_once","catch_up_window":null,"circuit_breaker":"off","delete_after_run":false,"description":null,"dst_fold":"once","dst_gap":"after","enabled":true,"every":"1h","execution":"at_least_once","first_run":"slot","grace":"1m","if_running":"skip","jitter":0,"max_catch_up_runs":100,"max_consecutive_errors":0,"max_outstanding_polls":0,"max_retries":3,"name":null,"not_on":[],"on_constraint":"drop","on_exhausted":"dead","only_between":null,"payload":{},"priority":0,"queue":"default","queue_limit":1000,"retry_backoff":"exponential","retry_delay":null,"slot_preempts_retry":false,"tags":[],"timeout":"10m","timezone":"UTC","total_repeats":0,"trigger_node_id":null,"workflow_id":7}',1794816000000000,NULL);

-- Views
DROP VIEW IF EXISTS readable_runs;
CREATE VIEW readable_runs as
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
DROP VIEW IF EXISTS readable_slots;
CREATE VIEW readable_slots as
select
    key as schedule,
    reason,
    count,
    strftime('%Y-%m-%d %H:%M:%fZ', first / 1e6, 'unixepoch') as first,
    strftime('%Y-%m-%d %H:%M:%fZ', last / 1e6, 'unixepoch') as last
from "slots_not_run"
left join schedules on schedules.id = schedule_id;
DROP VIEW IF EXISTS readable_schedules;
CREATE VIEW readable_schedules as
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
    last_error,
    strftime('%Y-%m-%d %H:%M:%fZ', last_slot / 1e6, 'unixepoch') as last_slot
from schedules
where deleted_at is null;

-- For primary key autoincrements the next id to use is stored in
-- sqlite_sequence
DELETE FROM main.sqlite_sequence WHERE name='events';
INSERT INTO main.sqlite_sequence VALUES ('events', 71);
DELETE FROM main.sqlite_sequence WHERE name='gate_changes';
INSERT INTO main.sqlite_sequence VALUES ('gate_changes', 2);
DELETE FROM main.sqlite_sequence WHERE name='outbox';
INSERT INTO main.sqlite_sequence VALUES ('outbox', 4);

-- Database header
pragma application_id=1363821387;

COMMIT TRANSACTION;
