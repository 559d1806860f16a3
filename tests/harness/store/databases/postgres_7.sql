--
-- PostgreSQL database dump
--


-- Dumped from database version 16.14
-- Dumped by pg_dump version 16.14

SET statement_timeout = 0;
SET lock_timeout = 0;
SET idle_in_transaction_session_timeout = 0;
SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
SELECT pg_catalog.set_config('search_path', '', false);
SET check_function_bodies = false;
SET xmloption = content;
SET client_min_messages = warning;
SET row_security = off;

--
-- Name: the_schema; Type: SCHEMA; Schema: -; Owner: -
--

CREATE SCHEMA the_schema;


--
-- Name: audit_is_never_changed(); Type: FUNCTION; Schema: the_schema; Owner: -
--

CREATE FUNCTION the_schema.audit_is_never_changed() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
begin
    raise exception 'what was written into the audit stays';
end
$$;


SET default_tablespace = '';

SET default_table_access_method = heap;

--
-- Name: attempts; Type: TABLE; Schema: the_schema; Owner: -
--

CREATE TABLE the_schema.attempts (
    schedule_id bigint NOT NULL,
    number bigint NOT NULL,
    attempt bigint NOT NULL,
    worker text,
    started_at bigint,
    finished_at bigint NOT NULL,
    ending text NOT NULL,
    error text,
    result text,
    handed_back boolean NOT NULL,
    code text
);


--
-- Name: audit; Type: TABLE; Schema: the_schema; Owner: -
--

CREATE TABLE the_schema.audit (
    id bigint NOT NULL,
    at bigint NOT NULL,
    by text NOT NULL,
    origin text NOT NULL,
    verb text NOT NULL,
    schedule_id bigint,
    run_id text,
    before text,
    after text
);


--
-- Name: counters; Type: TABLE; Schema: the_schema; Owner: -
--

CREATE TABLE the_schema.counters (
    name text NOT NULL,
    value bigint NOT NULL
);


--
-- Name: daily_stats; Type: TABLE; Schema: the_schema; Owner: -
--

CREATE TABLE the_schema.daily_stats (
    day bigint NOT NULL,
    schedule_id bigint NOT NULL,
    succeeded bigint NOT NULL,
    failed bigint NOT NULL,
    timed_out bigint NOT NULL,
    cancelled bigint NOT NULL,
    lost bigint NOT NULL,
    skipped bigint NOT NULL,
    started bigint NOT NULL,
    duration_sum bigint NOT NULL,
    duration_max bigint NOT NULL,
    delay_sum bigint NOT NULL,
    delay_max bigint NOT NULL
);


--
-- Name: events; Type: TABLE; Schema: the_schema; Owner: -
--

CREATE TABLE the_schema.events (
    id bigint NOT NULL,
    kind text NOT NULL,
    at bigint NOT NULL,
    about text NOT NULL,
    detail text
);


--
-- Name: events_id_seq; Type: SEQUENCE; Schema: the_schema; Owner: -
--

ALTER TABLE the_schema.events ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME the_schema.events_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);


--
-- Name: gate_changes; Type: TABLE; Schema: the_schema; Owner: -
--

CREATE TABLE the_schema.gate_changes (
    id bigint NOT NULL,
    key text NOT NULL,
    at bigint NOT NULL,
    before text NOT NULL,
    after text NOT NULL,
    failures bigint NOT NULL,
    run_id text
);


--
-- Name: gate_changes_id_seq; Type: SEQUENCE; Schema: the_schema; Owner: -
--

ALTER TABLE the_schema.gate_changes ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME the_schema.gate_changes_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);


--
-- Name: gates; Type: TABLE; Schema: the_schema; Owner: -
--

CREATE TABLE the_schema.gates (
    key text NOT NULL,
    state text NOT NULL,
    failures bigint NOT NULL,
    until bigint,
    reset_after bigint NOT NULL,
    probe text
);


--
-- Name: metadata; Type: TABLE; Schema: the_schema; Owner: -
--

CREATE TABLE the_schema.metadata (
    name text NOT NULL,
    value text NOT NULL
);


--
-- Name: migrations; Type: TABLE; Schema: the_schema; Owner: -
--

CREATE TABLE the_schema.migrations (
    number bigint NOT NULL,
    name text,
    checksum text,
    applied_at timestamp with time zone
);


--
-- Name: nodes; Type: TABLE; Schema: the_schema; Owner: -
--

CREATE TABLE the_schema.nodes (
    name text NOT NULL,
    host text NOT NULL,
    pid bigint NOT NULL,
    plans boolean NOT NULL,
    works boolean NOT NULL,
    program text NOT NULL,
    zone_data text NOT NULL,
    declaration text NOT NULL,
    revision text NOT NULL,
    started_at bigint NOT NULL,
    seen_at bigint NOT NULL,
    ahead bigint NOT NULL,
    process text DEFAULT ''::text NOT NULL,
    capabilities text
)
WITH (fillfactor='50');


--
-- Name: outbox; Type: TABLE; Schema: the_schema; Owner: -
--

CREATE TABLE the_schema.outbox (
    id bigint NOT NULL,
    kind text NOT NULL,
    at bigint NOT NULL,
    about text NOT NULL,
    detail text,
    sent_at bigint
);


--
-- Name: outbox_id_seq; Type: SEQUENCE; Schema: the_schema; Owner: -
--

ALTER TABLE the_schema.outbox ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME the_schema.outbox_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);


--
-- Name: output; Type: TABLE; Schema: the_schema; Owner: -
--

CREATE TABLE the_schema.output (
    schedule_id bigint NOT NULL,
    number bigint NOT NULL,
    attempt bigint NOT NULL,
    sequence bigint NOT NULL,
    at bigint NOT NULL,
    data bytea NOT NULL
);


--
-- Name: planner_state; Type: TABLE; Schema: the_schema; Owner: -
--

CREATE TABLE the_schema.planner_state (
    id bigint NOT NULL,
    last_look bigint,
    outage text,
    pace text NOT NULL,
    agents text,
    CONSTRAINT planning_id_check CHECK ((id = 1))
);


--
-- Name: runs; Type: TABLE; Schema: the_schema; Owner: -
--

CREATE TABLE the_schema.runs (
    schedule_id bigint NOT NULL,
    number bigint NOT NULL,
    kind text NOT NULL,
    slot bigint NOT NULL,
    ready_at bigint NOT NULL,
    planned_at bigint NOT NULL,
    scope text NOT NULL,
    gate text,
    version bigint NOT NULL,
    request bigint NOT NULL,
    state text NOT NULL,
    reason text,
    priority bigint NOT NULL,
    queue text NOT NULL,
    caught_up boolean NOT NULL,
    attempt bigint NOT NULL,
    failures bigint NOT NULL,
    losses bigint NOT NULL,
    worker text,
    started_at bigint,
    lease_until bigint,
    finished_at bigint,
    cancel text,
    error text,
    result text,
    repeat bigint DEFAULT 0 NOT NULL,
    code text
)
WITH (autovacuum_vacuum_scale_factor='0.02', autovacuum_vacuum_insert_scale_factor='0.05');


--
-- Name: schedules; Type: TABLE; Schema: the_schema; Owner: -
--

CREATE TABLE the_schema.schedules (
    id bigint NOT NULL,
    key text NOT NULL,
    created_at bigint NOT NULL,
    anchor_at bigint NOT NULL,
    cursor bigint NOT NULL,
    version bigint NOT NULL,
    status text NOT NULL,
    status_reason text,
    paused_by text,
    paused_until bigint,
    next_slot bigint,
    wake_at bigint,
    planned_count bigint NOT NULL,
    run_count bigint NOT NULL,
    current_repeat bigint NOT NULL,
    current_retry bigint NOT NULL,
    error_count bigint NOT NULL,
    consecutive_errors bigint NOT NULL,
    last_error text,
    last_result text,
    last_run_id text,
    last_slot bigint,
    last_success_at bigint,
    last_success_run_id text,
    last_failure_at bigint,
    not_run text,
    backfill text,
    name text,
    owner text,
    origin text NOT NULL,
    updated_at bigint NOT NULL,
    deleted_at bigint,
    priority bigint DEFAULT 0 NOT NULL,
    last_fired_at bigint,
    preset text
)
WITH (fillfactor='70');


--
-- Name: readable_runs; Type: VIEW; Schema: the_schema; Owner: -
--

CREATE VIEW the_schema.readable_runs AS
 SELECT ((runs.schedule_id || '-'::text) || runs.number) AS run,
    schedules.key AS schedule,
    runs.state,
    runs.reason,
    to_timestamp((((runs.slot)::numeric / '1000000'::numeric))::double precision) AS slot,
    to_timestamp((((runs.started_at)::numeric / '1000000'::numeric))::double precision) AS started_at,
    to_timestamp((((runs.finished_at)::numeric / '1000000'::numeric))::double precision) AS finished_at,
    runs.attempt,
    runs.worker,
    runs.error
   FROM (the_schema.runs
     LEFT JOIN the_schema.schedules ON ((schedules.id = runs.schedule_id)));


--
-- Name: readable_schedules; Type: VIEW; Schema: the_schema; Owner: -
--

CREATE VIEW the_schema.readable_schedules AS
 SELECT id,
    key,
    status,
    status_reason,
    to_timestamp((((next_slot)::numeric / '1000000'::numeric))::double precision) AS next_slot,
    to_timestamp((((last_fired_at)::numeric / '1000000'::numeric))::double precision) AS last_fired_at,
    to_timestamp((((last_success_at)::numeric / '1000000'::numeric))::double precision) AS last_success_at,
    planned_count,
    run_count,
    error_count,
    last_error,
    to_timestamp((((last_slot)::numeric / '1000000'::numeric))::double precision) AS last_slot
   FROM the_schema.schedules
  WHERE (deleted_at IS NULL);


--
-- Name: slots_not_run; Type: TABLE; Schema: the_schema; Owner: -
--

CREATE TABLE the_schema.slots_not_run (
    schedule_id bigint NOT NULL,
    first bigint NOT NULL,
    last bigint NOT NULL,
    count bigint NOT NULL,
    reason text NOT NULL
);


--
-- Name: readable_slots; Type: VIEW; Schema: the_schema; Owner: -
--

CREATE VIEW the_schema.readable_slots AS
 SELECT schedules.key AS schedule,
    slots_not_run.reason,
    slots_not_run.count,
    to_timestamp((((slots_not_run.first)::numeric / '1000000'::numeric))::double precision) AS first,
    to_timestamp((((slots_not_run.last)::numeric / '1000000'::numeric))::double precision) AS last
   FROM (the_schema.slots_not_run
     LEFT JOIN the_schema.schedules ON ((schedules.id = slots_not_run.schedule_id)));


--
-- Name: specifications; Type: TABLE; Schema: the_schema; Owner: -
--

CREATE TABLE the_schema.specifications (
    schedule_id bigint NOT NULL,
    version bigint NOT NULL,
    hash text NOT NULL,
    body text NOT NULL,
    created_at bigint NOT NULL,
    service_preset text
);


--
-- Data for Name: attempts; Type: TABLE DATA; Schema: the_schema; Owner: -
--

INSERT INTO the_schema.attempts VALUES (4, 0, 1, 'w1', 1794826800000000, 1794826800000000, 'failed', NULL, NULL, false, NULL);


--
-- Data for Name: audit; Type: TABLE DATA; Schema: the_schema; Owner: -
--

INSERT INTO the_schema.audit VALUES (1, 1794816000000000, 'ada', 'test', 'create', 1, NULL, NULL, '{"key":"hourly","version":1}');
INSERT INTO the_schema.audit VALUES (2, 1794816000000000, 'ada', 'test', 'create', 2, NULL, NULL, '{"key":"repeating","version":1}');
INSERT INTO the_schema.audit VALUES (3, 1794816000000000, 'ada', 'test', 'create', 3, NULL, NULL, '{"key":"one-shot","version":1}');
INSERT INTO the_schema.audit VALUES (4, 1794816000000000, 'ada', 'test', 'create', 4, NULL, NULL, '{"key":"retrying","version":1}');
INSERT INTO the_schema.audit VALUES (5, 1794816000000000, 'ada', 'test', 'create', 5, NULL, NULL, '{"key":"completion-running","version":1}');
INSERT INTO the_schema.audit VALUES (6, 1794816000000000, 'ada', 'test', 'create', 6, NULL, NULL, '{"key":"removed-retrying","version":1}');
INSERT INTO the_schema.audit VALUES (7, 1794816000000000, 'ada', 'test', 'create', 7, NULL, NULL, '{"key":"removed-held","version":1}');
INSERT INTO the_schema.audit VALUES (8, 1794816000000000, 'ada', 'test', 'create', 8, NULL, NULL, '{"key":"removed-running","version":1}');
INSERT INTO the_schema.audit VALUES (9, 1794816000000000, 'ada', 'test', 'create', 9, NULL, NULL, '{"key":"sharing","version":1}');
INSERT INTO the_schema.audit VALUES (10, 1794816000000000, 'ada', 'test', 'create', 10, NULL, NULL, '{"key":"paused","version":1}');
INSERT INTO the_schema.audit VALUES (11, 1794816000000000, 'ada', 'test', 'create', 11, NULL, NULL, '{"key":"deleted","version":1}');
INSERT INTO the_schema.audit VALUES (12, 1794816000000000, 'ada', 'test', 'create', 12, NULL, NULL, '{"key":"backfilling","version":1}');
INSERT INTO the_schema.audit VALUES (13, 1794816000000000, 'ada', 'test', 'create', 13, NULL, NULL, '{"key":"prompting","version":1}');
INSERT INTO the_schema.audit VALUES (14, 1794816000000000, 'ada', 'test', 'create', 14, NULL, NULL, '{"key":"prompting-otherwise","version":1}');
INSERT INTO the_schema.audit VALUES (15, 1794816000000000, 'ada', 'test', 'create', 15, NULL, NULL, '{"key":"own-preset","version":1}');
INSERT INTO the_schema.audit VALUES (16, 1794816000000000, 'ada', 'test', 'create', 16, NULL, NULL, '{"key":"calling","version":1}');
INSERT INTO the_schema.audit VALUES (17, 1795131238609866, 'ada', 'cli', 'pause', 10, NULL, '{"status":"active","status_reason":null,"paused_by":null,"next_slot":"2026-11-16T12:00:00Z"}', '{"status":"paused","status_reason":"repairs","paused_by":"ada","next_slot":null}');
INSERT INTO the_schema.audit VALUES (18, 1795131238614205, 'ada', 'cli', 'delete', 11, NULL, '{"key":"deleted","version":1}', NULL);
INSERT INTO the_schema.audit VALUES (19, 1795131238617785, 'ada', 'cli', 'backfill', 12, NULL, NULL, '{"backfill":"2026-11-16T08:30:00Z to 2026-11-16T11:30:00Z"}');


--
-- Data for Name: counters; Type: TABLE DATA; Schema: the_schema; Owner: -
--

INSERT INTO the_schema.counters VALUES ('schedules', 16);
INSERT INTO the_schema.counters VALUES ('requests', 19);


--
-- Data for Name: daily_stats; Type: TABLE DATA; Schema: the_schema; Owner: -
--



--
-- Data for Name: events; Type: TABLE DATA; Schema: the_schema; Owner: -
--

INSERT INTO the_schema.events OVERRIDING SYSTEM VALUE VALUES (1, 'schedule.created', 1794816000000000, '["hourly"]', NULL);
INSERT INTO the_schema.events OVERRIDING SYSTEM VALUE VALUES (2, 'schedule.created', 1794816000000000, '["repeating"]', NULL);
INSERT INTO the_schema.events OVERRIDING SYSTEM VALUE VALUES (3, 'schedule.created', 1794816000000000, '["one-shot"]', NULL);
INSERT INTO the_schema.events OVERRIDING SYSTEM VALUE VALUES (4, 'schedule.created', 1794816000000000, '["retrying"]', NULL);
INSERT INTO the_schema.events OVERRIDING SYSTEM VALUE VALUES (5, 'schedule.created', 1794816000000000, '["completion-running"]', NULL);
INSERT INTO the_schema.events OVERRIDING SYSTEM VALUE VALUES (6, 'schedule.created', 1794816000000000, '["removed-retrying"]', NULL);
INSERT INTO the_schema.events OVERRIDING SYSTEM VALUE VALUES (7, 'schedule.created', 1794816000000000, '["removed-held"]', NULL);
INSERT INTO the_schema.events OVERRIDING SYSTEM VALUE VALUES (8, 'schedule.created', 1794816000000000, '["removed-running"]', NULL);
INSERT INTO the_schema.events OVERRIDING SYSTEM VALUE VALUES (9, 'schedule.created', 1794816000000000, '["sharing"]', NULL);
INSERT INTO the_schema.events OVERRIDING SYSTEM VALUE VALUES (10, 'schedule.created', 1794816000000000, '["paused"]', NULL);
INSERT INTO the_schema.events OVERRIDING SYSTEM VALUE VALUES (11, 'schedule.created', 1794816000000000, '["deleted"]', NULL);
INSERT INTO the_schema.events OVERRIDING SYSTEM VALUE VALUES (12, 'schedule.created', 1794816000000000, '["backfilling"]', NULL);
INSERT INTO the_schema.events OVERRIDING SYSTEM VALUE VALUES (13, 'schedule.created', 1794816000000000, '["prompting"]', NULL);
INSERT INTO the_schema.events OVERRIDING SYSTEM VALUE VALUES (14, 'schedule.created', 1794816000000000, '["prompting-otherwise"]', NULL);
INSERT INTO the_schema.events OVERRIDING SYSTEM VALUE VALUES (15, 'schedule.created', 1794816000000000, '["own-preset"]', NULL);
INSERT INTO the_schema.events OVERRIDING SYSTEM VALUE VALUES (16, 'schedule.created', 1794816000000000, '["calling"]', NULL);
INSERT INTO the_schema.events OVERRIDING SYSTEM VALUE VALUES (17, 'run.planned', 1794819600000000, '["1-0","2-0","3-0","5-0","6-0","7-0","8-0","10-0","11-0","12-0","13-0","14-0","15-0","16-0"]', NULL);
INSERT INTO the_schema.events OVERRIDING SYSTEM VALUE VALUES (18, 'slot.skipped', 1794819600000000, '["sharing"]', '1 slot: max_outstanding_polls polls were already outstanding');
INSERT INTO the_schema.events OVERRIDING SYSTEM VALUE VALUES (19, 'run.started', 1794819600000000, '["1-0","2-0","3-0","5-0","6-0","7-0","8-0","10-0","11-0","12-0","13-0","14-0","15-0","16-0"]', NULL);
INSERT INTO the_schema.events OVERRIDING SYSTEM VALUE VALUES (20, 'run.succeeded', 1794819600000000, '["1-0"]', NULL);
INSERT INTO the_schema.events OVERRIDING SYSTEM VALUE VALUES (21, 'run.succeeded', 1794819600000000, '["2-0"]', NULL);
INSERT INTO the_schema.events OVERRIDING SYSTEM VALUE VALUES (22, 'run.succeeded', 1794819600000000, '["3-0"]', NULL);
INSERT INTO the_schema.events OVERRIDING SYSTEM VALUE VALUES (23, 'run.succeeded', 1794819600000000, '["5-0"]', NULL);
INSERT INTO the_schema.events OVERRIDING SYSTEM VALUE VALUES (24, 'run.succeeded', 1794819600000000, '["6-0"]', NULL);
INSERT INTO the_schema.events OVERRIDING SYSTEM VALUE VALUES (25, 'run.succeeded', 1794819600000000, '["7-0"]', NULL);
INSERT INTO the_schema.events OVERRIDING SYSTEM VALUE VALUES (26, 'run.succeeded', 1794819600000000, '["8-0"]', NULL);
INSERT INTO the_schema.events OVERRIDING SYSTEM VALUE VALUES (27, 'run.succeeded', 1794819600000000, '["10-0"]', NULL);
INSERT INTO the_schema.events OVERRIDING SYSTEM VALUE VALUES (28, 'run.succeeded', 1794819600000000, '["11-0"]', NULL);
INSERT INTO the_schema.events OVERRIDING SYSTEM VALUE VALUES (29, 'run.succeeded', 1794819600000000, '["12-0"]', NULL);
INSERT INTO the_schema.events OVERRIDING SYSTEM VALUE VALUES (30, 'run.succeeded', 1794819600000000, '["13-0"]', NULL);
INSERT INTO the_schema.events OVERRIDING SYSTEM VALUE VALUES (31, 'run.succeeded', 1794819600000000, '["14-0"]', NULL);
INSERT INTO the_schema.events OVERRIDING SYSTEM VALUE VALUES (32, 'run.succeeded', 1794819600000000, '["15-0"]', NULL);
INSERT INTO the_schema.events OVERRIDING SYSTEM VALUE VALUES (33, 'run.succeeded', 1794819600000000, '["16-0"]', NULL);
INSERT INTO the_schema.events OVERRIDING SYSTEM VALUE VALUES (34, 'run.planned', 1794823200000000, '["1-1","2-1","5-1","6-1","7-1","8-1","10-1","12-1","13-1","14-1","15-1","16-1"]', NULL);
INSERT INTO the_schema.events OVERRIDING SYSTEM VALUE VALUES (35, 'schedule.done', 1794823200000000, '["one-shot"]', 'no_more_slots');
INSERT INTO the_schema.events OVERRIDING SYSTEM VALUE VALUES (36, 'slot.skipped', 1794823200000000, '["sharing"]', '2 slots: max_outstanding_polls polls were already outstanding');
INSERT INTO the_schema.events OVERRIDING SYSTEM VALUE VALUES (37, 'run.started', 1794823200000000, '["1-1","2-1","5-1","6-1","7-1","8-1","10-1","12-1","13-1","14-1","15-1","16-1"]', NULL);
INSERT INTO the_schema.events OVERRIDING SYSTEM VALUE VALUES (38, 'run.succeeded', 1794823200000000, '["1-1"]', NULL);
INSERT INTO the_schema.events OVERRIDING SYSTEM VALUE VALUES (39, 'run.succeeded', 1794823200000000, '["2-1"]', NULL);
INSERT INTO the_schema.events OVERRIDING SYSTEM VALUE VALUES (40, 'run.succeeded', 1794823200000000, '["5-1"]', NULL);
INSERT INTO the_schema.events OVERRIDING SYSTEM VALUE VALUES (41, 'run.succeeded', 1794823200000000, '["6-1"]', NULL);
INSERT INTO the_schema.events OVERRIDING SYSTEM VALUE VALUES (42, 'run.succeeded', 1794823200000000, '["7-1"]', NULL);
INSERT INTO the_schema.events OVERRIDING SYSTEM VALUE VALUES (43, 'run.succeeded', 1794823200000000, '["8-1"]', NULL);
INSERT INTO the_schema.events OVERRIDING SYSTEM VALUE VALUES (44, 'run.succeeded', 1794823200000000, '["10-1"]', NULL);
INSERT INTO the_schema.events OVERRIDING SYSTEM VALUE VALUES (45, 'run.succeeded', 1794823200000000, '["12-1"]', NULL);
INSERT INTO the_schema.events OVERRIDING SYSTEM VALUE VALUES (46, 'run.succeeded', 1794823200000000, '["13-1"]', NULL);
INSERT INTO the_schema.events OVERRIDING SYSTEM VALUE VALUES (47, 'run.succeeded', 1794823200000000, '["14-1"]', NULL);
INSERT INTO the_schema.events OVERRIDING SYSTEM VALUE VALUES (48, 'run.succeeded', 1794823200000000, '["15-1"]', NULL);
INSERT INTO the_schema.events OVERRIDING SYSTEM VALUE VALUES (49, 'run.succeeded', 1794823200000000, '["16-1"]', NULL);
INSERT INTO the_schema.events OVERRIDING SYSTEM VALUE VALUES (50, 'run.planned', 1794826800000000, '["1-2","2-2","4-0","5-2","6-2","7-2","8-2","10-2","12-2","13-2","14-2","15-2","16-2"]', NULL);
INSERT INTO the_schema.events OVERRIDING SYSTEM VALUE VALUES (51, 'slot.skipped', 1794826800000000, '["sharing"]', '3 slots: max_outstanding_polls polls were already outstanding');
INSERT INTO the_schema.events OVERRIDING SYSTEM VALUE VALUES (52, 'run.started', 1794826800000000, '["1-2","2-2","4-0","5-2","6-2","7-2","8-2","10-2","12-2","13-2","14-2","15-2","16-2"]', NULL);
INSERT INTO the_schema.events OVERRIDING SYSTEM VALUE VALUES (53, 'schedule.deleted', 1794826800000000, '["removed-retrying"]', NULL);
INSERT INTO the_schema.events OVERRIDING SYSTEM VALUE VALUES (54, 'schedule.deleted', 1794826800000000, '["removed-held"]', NULL);
INSERT INTO the_schema.events OVERRIDING SYSTEM VALUE VALUES (55, 'schedule.deleted', 1794826800000000, '["removed-running"]', NULL);
INSERT INTO the_schema.events OVERRIDING SYSTEM VALUE VALUES (56, 'run.succeeded', 1794826800000000, '["1-2"]', NULL);
INSERT INTO the_schema.events OVERRIDING SYSTEM VALUE VALUES (57, 'run.succeeded', 1794826800000000, '["2-2"]', NULL);
INSERT INTO the_schema.events OVERRIDING SYSTEM VALUE VALUES (58, 'run.retrying', 1794826800000000, '["4-0"]', NULL);
INSERT INTO the_schema.events OVERRIDING SYSTEM VALUE VALUES (59, 'run.failed', 1794826800000000, '["6-2"]', 'the schedule was deleted');
INSERT INTO the_schema.events OVERRIDING SYSTEM VALUE VALUES (60, 'run.failed', 1794826800000000, '["7-2"]', 'the schedule was deleted');
INSERT INTO the_schema.events OVERRIDING SYSTEM VALUE VALUES (61, 'gate.open', 1794826800000000, '["shared/poll"]', 'was closed');
INSERT INTO the_schema.events OVERRIDING SYSTEM VALUE VALUES (62, 'run.succeeded', 1794826800000000, '["10-2"]', NULL);
INSERT INTO the_schema.events OVERRIDING SYSTEM VALUE VALUES (63, 'run.succeeded', 1794826800000000, '["12-2"]', NULL);
INSERT INTO the_schema.events OVERRIDING SYSTEM VALUE VALUES (64, 'run.succeeded', 1794826800000000, '["13-2"]', NULL);
INSERT INTO the_schema.events OVERRIDING SYSTEM VALUE VALUES (65, 'run.succeeded', 1794826800000000, '["14-2"]', NULL);
INSERT INTO the_schema.events OVERRIDING SYSTEM VALUE VALUES (66, 'run.succeeded', 1794826800000000, '["15-2"]', NULL);
INSERT INTO the_schema.events OVERRIDING SYSTEM VALUE VALUES (67, 'run.succeeded', 1794826800000000, '["16-2"]', NULL);
INSERT INTO the_schema.events OVERRIDING SYSTEM VALUE VALUES (68, 'run.planned', 1795131238609866, '["10-3"]', NULL);
INSERT INTO the_schema.events OVERRIDING SYSTEM VALUE VALUES (69, 'slot.missed', 1795131238609866, '["paused"]', '83 slots: merged into the latest slot');
INSERT INTO the_schema.events OVERRIDING SYSTEM VALUE VALUES (70, 'schedule.paused', 1795131238609866, '["paused"]', 'repairs');
INSERT INTO the_schema.events OVERRIDING SYSTEM VALUE VALUES (71, 'run.planned', 1795131238614205, '["11-1"]', NULL);
INSERT INTO the_schema.events OVERRIDING SYSTEM VALUE VALUES (72, 'slot.missed', 1795131238614205, '["deleted"]', '2 slots: merged into the latest slot');
INSERT INTO the_schema.events OVERRIDING SYSTEM VALUE VALUES (73, 'schedule.deleted', 1795131238614205, '["deleted"]', NULL);
INSERT INTO the_schema.events OVERRIDING SYSTEM VALUE VALUES (74, 'run.planned', 1794830400000000, '["1-3","2-3","9-0","13-3","14-3","15-3","16-3"]', NULL);
INSERT INTO the_schema.events OVERRIDING SYSTEM VALUE VALUES (75, 'gate.half_open', 1794830400000000, '["shared/poll"]', 'was open');


--
-- Data for Name: gate_changes; Type: TABLE DATA; Schema: the_schema; Owner: -
--

INSERT INTO the_schema.gate_changes OVERRIDING SYSTEM VALUE VALUES (1, 'shared/poll', 1794826800000000, 'closed', 'open', 1, '7-2');
INSERT INTO the_schema.gate_changes OVERRIDING SYSTEM VALUE VALUES (2, 'shared/poll', 1794830400000000, 'open', 'half_open', 1, '9-0');


--
-- Data for Name: gates; Type: TABLE DATA; Schema: the_schema; Owner: -
--

INSERT INTO the_schema.gates VALUES ('shared/poll', 'half_open', 1, NULL, 600000000, '9-0');


--
-- Data for Name: metadata; Type: TABLE DATA; Schema: the_schema; Owner: -
--

INSERT INTO the_schema.metadata VALUES ('service_settings', '{"declared_only": false, "defaults": {}, "file": null, "limits": {"catchup_stagger_ms": null, "max_catchup_runs": null, "max_consecutive_errors": null, "max_dispatch_per_tick": null, "max_scheduled_jobs": null, "timer_clamp_ms": 60000}, "name": "default", "preset": null, "queues": ["default"], "retention": {"audit_age": 31536000000000, "daily_age": 34560000000000, "event_age": 2592000000000, "output_age": 2592000000000, "run_age": 7776000000000, "run_count": 10000}}');


--
-- Data for Name: migrations; Type: TABLE DATA; Schema: the_schema; Owner: -
--

INSERT INTO the_schema.migrations VALUES (1, 'tables', 'ecc4766383ab4e83edf34c82112dd9cd', '2026-11-19 23:33:58.382657+00');
INSERT INTO the_schema.migrations VALUES (2, 'nodes', '3bdcbfe0fefe8f35858283578cee113e', '2026-11-19 23:33:58.382657+00');
INSERT INTO the_schema.migrations VALUES (3, 'claims_in_order', '083bab68a39b8710504be67cb1802c9e', '2026-11-19 23:33:58.382657+00');
INSERT INTO the_schema.migrations VALUES (4, 'close_runs_of_deleted_schedules', '3b1d827c3d7cbb1a19de7427960321c4', '2026-11-19 23:33:58.382657+00');
INSERT INTO the_schema.migrations VALUES (5, 'last_slots_and_presets', '47f6a963bf5585b5e616008b1fc8d406', '2026-11-19 23:33:58.382657+00');
INSERT INTO the_schema.migrations VALUES (6, 'plain_names', 'a7a680aef8d0ca8ae781afb99656c165', '2026-11-19 23:33:58.382657+00');
INSERT INTO the_schema.migrations VALUES (7, 'error_codes', '837f9a75e5592b82c7e1dd5210756118', '2026-11-19 23:33:58.382657+00');


--
-- Data for Name: nodes; Type: TABLE DATA; Schema: the_schema; Owner: -
--



--
-- Data for Name: outbox; Type: TABLE DATA; Schema: the_schema; Owner: -
--

INSERT INTO the_schema.outbox OVERRIDING SYSTEM VALUE VALUES (1, 'run.failed', 1794826800000000, '["6-2"]', 'the schedule was deleted', NULL);
INSERT INTO the_schema.outbox OVERRIDING SYSTEM VALUE VALUES (2, 'run.failed', 1794826800000000, '["7-2"]', 'the schedule was deleted', NULL);
INSERT INTO the_schema.outbox OVERRIDING SYSTEM VALUE VALUES (3, 'gate.open', 1794826800000000, '["shared/poll"]', 'was closed', NULL);
INSERT INTO the_schema.outbox OVERRIDING SYSTEM VALUE VALUES (4, 'slot.missed', 1795131238609866, '["paused"]', '83 slots: merged into the latest slot', NULL);
INSERT INTO the_schema.outbox OVERRIDING SYSTEM VALUE VALUES (5, 'schedule.paused', 1795131238609866, '["paused"]', 'repairs', NULL);
INSERT INTO the_schema.outbox OVERRIDING SYSTEM VALUE VALUES (6, 'slot.missed', 1795131238614205, '["deleted"]', '2 slots: merged into the latest slot', NULL);


--
-- Data for Name: output; Type: TABLE DATA; Schema: the_schema; Owner: -
--

INSERT INTO the_schema.output VALUES (1, 0, 1, 0, 1794819600000000, '\x697420697320390a68616c66206120');
INSERT INTO the_schema.output VALUES (1, 0, 1, 1, 1794819600000000, '\x6c696e650a00ff');
INSERT INTO the_schema.output VALUES (1, 1, 1, 0, 1794823200000000, '\x69742069732031300a68616c66206120');
INSERT INTO the_schema.output VALUES (1, 1, 1, 1, 1794823200000000, '\x6c696e650a00ff');
INSERT INTO the_schema.output VALUES (1, 2, 1, 0, 1794826800000000, '\x69742069732031310a68616c66206120');
INSERT INTO the_schema.output VALUES (1, 2, 1, 1, 1794826800000000, '\x6c696e650a00ff');


--
-- Data for Name: planner_state; Type: TABLE DATA; Schema: the_schema; Owner: -
--

INSERT INTO the_schema.planner_state VALUES (1, 1794830400000000, '[1794826800000000,1794830400000000,0,0]', '[0,0,0]', '[[1794826800000000,1794830400000000,0,0],[1794830400,2,0]]');


--
-- Data for Name: runs; Type: TABLE DATA; Schema: the_schema; Owner: -
--

INSERT INTO the_schema.runs VALUES (1, 0, 'slot', 1794819600000000, 1794819600000000, 1794819600000000, '1', NULL, 1, 0, 'succeeded', NULL, 0, 'default', false, 1, 0, 0, 'w1', 1794819600000000, 1794819610000000, 1794819600000000, NULL, NULL, NULL, 0, NULL);
INSERT INTO the_schema.runs VALUES (2, 0, 'slot', 1794819600000000, 1794819600000000, 1794819600000000, '2', NULL, 1, 0, 'succeeded', NULL, 0, 'default', false, 1, 0, 0, 'w1', 1794819600000000, 1794819610000000, 1794819600000000, NULL, NULL, NULL, 0, NULL);
INSERT INTO the_schema.runs VALUES (3, 0, 'slot', 1794819600000000, 1794819600000000, 1794819600000000, '3', NULL, 1, 0, 'succeeded', NULL, 0, 'default', false, 1, 0, 0, 'w1', 1794819600000000, 1794819610000000, 1794819600000000, NULL, NULL, NULL, 0, NULL);
INSERT INTO the_schema.runs VALUES (5, 0, 'slot', 1794819600000000, 1794819600000000, 1794819600000000, '5', NULL, 1, 0, 'succeeded', NULL, 0, 'default', false, 1, 0, 0, 'w1', 1794819600000000, 1794819610000000, 1794819600000000, NULL, NULL, NULL, 0, NULL);
INSERT INTO the_schema.runs VALUES (6, 0, 'slot', 1794819600000000, 1794819600000000, 1794819600000000, '6', NULL, 1, 0, 'succeeded', NULL, 0, 'default', false, 1, 0, 0, 'w1', 1794819600000000, 1794819610000000, 1794819600000000, NULL, NULL, NULL, 0, NULL);
INSERT INTO the_schema.runs VALUES (7, 0, 'slot', 1794819600000000, 1794819600000000, 1794819600000000, 'shared/poll', 'shared/poll', 1, 0, 'succeeded', NULL, 0, 'default', false, 1, 0, 0, 'w1', 1794819600000000, 1794819610000000, 1794819600000000, NULL, NULL, NULL, 0, NULL);
INSERT INTO the_schema.runs VALUES (8, 0, 'slot', 1794819600000000, 1794819600000000, 1794819600000000, '8', NULL, 1, 0, 'succeeded', NULL, 0, 'default', false, 1, 0, 0, 'w1', 1794819600000000, 1794819610000000, 1794819600000000, NULL, NULL, NULL, 0, NULL);
INSERT INTO the_schema.runs VALUES (10, 0, 'slot', 1794819600000000, 1794819600000000, 1794819600000000, '10', NULL, 1, 0, 'succeeded', NULL, 0, 'default', false, 1, 0, 0, 'w1', 1794819600000000, 1794819610000000, 1794819600000000, NULL, NULL, NULL, 0, NULL);
INSERT INTO the_schema.runs VALUES (11, 0, 'slot', 1794819600000000, 1794819600000000, 1794819600000000, '11', NULL, 1, 0, 'succeeded', NULL, 0, 'default', false, 1, 0, 0, 'w1', 1794819600000000, 1794819610000000, 1794819600000000, NULL, NULL, NULL, 0, NULL);
INSERT INTO the_schema.runs VALUES (12, 0, 'slot', 1794819600000000, 1794819600000000, 1794819600000000, 'p/poll', 'p/poll', 1, 0, 'succeeded', NULL, 0, 'default', false, 1, 0, 0, 'w1', 1794819600000000, 1794819610000000, 1794819600000000, NULL, NULL, NULL, 0, NULL);
INSERT INTO the_schema.runs VALUES (13, 0, 'slot', 1794819600000000, 1794819600000000, 1794819600000000, '13', NULL, 1, 0, 'succeeded', NULL, 0, 'default', false, 1, 0, 0, 'w1', 1794819600000000, 1794819610000000, 1794819600000000, NULL, NULL, NULL, 0, NULL);
INSERT INTO the_schema.runs VALUES (14, 0, 'slot', 1794819600000000, 1794819600000000, 1794819600000000, '14', 'schedule/14', 1, 0, 'succeeded', NULL, 0, 'default', false, 1, 0, 0, 'w1', 1794819600000000, 1794819610000000, 1794819600000000, NULL, NULL, NULL, 0, NULL);
INSERT INTO the_schema.runs VALUES (15, 0, 'slot', 1794819600000000, 1794819600000000, 1794819600000000, '15', NULL, 1, 0, 'succeeded', NULL, 0, 'default', false, 1, 0, 0, 'w1', 1794819600000000, 1794819610000000, 1794819600000000, NULL, NULL, NULL, 0, NULL);
INSERT INTO the_schema.runs VALUES (16, 0, 'slot', 1794819600000000, 1794819600000000, 1794819600000000, '16', NULL, 1, 0, 'succeeded', NULL, 0, 'default', false, 1, 0, 0, 'w1', 1794819600000000, 1794819610000000, 1794819600000000, NULL, NULL, NULL, 0, NULL);
INSERT INTO the_schema.runs VALUES (1, 1, 'slot', 1794823200000000, 1794823200000000, 1794823200000000, '1', NULL, 1, 0, 'succeeded', NULL, 0, 'default', false, 1, 0, 0, 'w1', 1794823200000000, 1794823210000000, 1794823200000000, NULL, NULL, NULL, 1, NULL);
INSERT INTO the_schema.runs VALUES (2, 1, 'slot', 1794823200000000, 1794823200000000, 1794823200000000, '2', NULL, 1, 0, 'succeeded', NULL, 0, 'default', false, 1, 0, 0, 'w1', 1794823200000000, 1794823210000000, 1794823200000000, NULL, NULL, NULL, 1, NULL);
INSERT INTO the_schema.runs VALUES (5, 1, 'slot', 1794823200000000, 1794823200000000, 1794823200000000, '5', NULL, 1, 0, 'succeeded', NULL, 0, 'default', false, 1, 0, 0, 'w1', 1794823200000000, 1794823210000000, 1794823200000000, NULL, NULL, NULL, 1, NULL);
INSERT INTO the_schema.runs VALUES (6, 1, 'slot', 1794823200000000, 1794823200000000, 1794823200000000, '6', NULL, 1, 0, 'succeeded', NULL, 0, 'default', false, 1, 0, 0, 'w1', 1794823200000000, 1794823210000000, 1794823200000000, NULL, NULL, NULL, 1, NULL);
INSERT INTO the_schema.runs VALUES (7, 1, 'slot', 1794823200000000, 1794823200000000, 1794823200000000, 'shared/poll', 'shared/poll', 1, 0, 'succeeded', NULL, 0, 'default', false, 1, 0, 0, 'w1', 1794823200000000, 1794823210000000, 1794823200000000, NULL, NULL, NULL, 1, NULL);
INSERT INTO the_schema.runs VALUES (8, 1, 'slot', 1794823200000000, 1794823200000000, 1794823200000000, '8', NULL, 1, 0, 'succeeded', NULL, 0, 'default', false, 1, 0, 0, 'w1', 1794823200000000, 1794823210000000, 1794823200000000, NULL, NULL, NULL, 1, NULL);
INSERT INTO the_schema.runs VALUES (10, 1, 'slot', 1794823200000000, 1794823200000000, 1794823200000000, '10', NULL, 1, 0, 'succeeded', NULL, 0, 'default', false, 1, 0, 0, 'w1', 1794823200000000, 1794823210000000, 1794823200000000, NULL, NULL, NULL, 1, NULL);
INSERT INTO the_schema.runs VALUES (12, 1, 'slot', 1794823200000000, 1794823200000000, 1794823200000000, 'p/poll', 'p/poll', 1, 0, 'succeeded', NULL, 0, 'default', false, 1, 0, 0, 'w1', 1794823200000000, 1794823210000000, 1794823200000000, NULL, NULL, NULL, 1, NULL);
INSERT INTO the_schema.runs VALUES (13, 1, 'slot', 1794823200000000, 1794823200000000, 1794823200000000, '13', NULL, 1, 0, 'succeeded', NULL, 0, 'default', false, 1, 0, 0, 'w1', 1794823200000000, 1794823210000000, 1794823200000000, NULL, NULL, NULL, 1, NULL);
INSERT INTO the_schema.runs VALUES (14, 1, 'slot', 1794823200000000, 1794823200000000, 1794823200000000, '14', 'schedule/14', 1, 0, 'succeeded', NULL, 0, 'default', false, 1, 0, 0, 'w1', 1794823200000000, 1794823210000000, 1794823200000000, NULL, NULL, NULL, 1, NULL);
INSERT INTO the_schema.runs VALUES (15, 1, 'slot', 1794823200000000, 1794823200000000, 1794823200000000, '15', NULL, 1, 0, 'succeeded', NULL, 0, 'default', false, 1, 0, 0, 'w1', 1794823200000000, 1794823210000000, 1794823200000000, NULL, NULL, NULL, 1, NULL);
INSERT INTO the_schema.runs VALUES (16, 1, 'slot', 1794823200000000, 1794823200000000, 1794823200000000, '16', NULL, 1, 0, 'succeeded', NULL, 0, 'default', false, 1, 0, 0, 'w1', 1794823200000000, 1794823210000000, 1794823200000000, NULL, NULL, NULL, 1, NULL);
INSERT INTO the_schema.runs VALUES (5, 2, 'slot', 1794826800000000, 1794826800000000, 1794826800000000, '5', NULL, 1, 0, 'running', NULL, 0, 'default', false, 1, 0, 0, 'w1', 1794826800000000, 1794826810000000, NULL, NULL, NULL, NULL, 2, NULL);
INSERT INTO the_schema.runs VALUES (8, 2, 'slot', 1794826800000000, 1794826800000000, 1794826800000000, '8', NULL, 1, 0, 'running', NULL, 0, 'default', false, 1, 0, 0, 'w1', 1794826800000000, 1794826810000000, NULL, NULL, NULL, NULL, 2, NULL);
INSERT INTO the_schema.runs VALUES (1, 2, 'slot', 1794826800000000, 1794826800000000, 1794826800000000, '1', NULL, 1, 0, 'succeeded', NULL, 0, 'default', false, 1, 0, 0, 'w1', 1794826800000000, 1794826810000000, 1794826800000000, NULL, NULL, NULL, 2, NULL);
INSERT INTO the_schema.runs VALUES (2, 2, 'slot', 1794826800000000, 1794826800000000, 1794826800000000, '2', NULL, 1, 0, 'succeeded', NULL, 0, 'default', false, 1, 0, 0, 'w1', 1794826800000000, 1794826810000000, 1794826800000000, NULL, NULL, NULL, 2, NULL);
INSERT INTO the_schema.runs VALUES (4, 0, 'slot', 1794826800000000, 1794834000000000, 1794826800000000, '4', NULL, 1, 0, 'queued', NULL, 0, 'default', false, 1, 1, 0, NULL, 1794826800000000, NULL, NULL, NULL, NULL, NULL, 0, NULL);
INSERT INTO the_schema.runs VALUES (6, 2, 'slot', 1794826800000000, 1794826800000000, 1794826800000000, '6', NULL, 1, 0, 'failed', 'deleted', 0, 'default', false, 1, 1, 0, 'w1', 1794826800000000, 1794826810000000, 1794826800000000, NULL, NULL, NULL, 2, NULL);
INSERT INTO the_schema.runs VALUES (7, 2, 'slot', 1794826800000000, 1794826800000000, 1794826800000000, 'shared/poll', 'shared/poll', 1, 0, 'failed', 'deleted', 0, 'default', false, 1, 1, 0, 'w1', 1794826800000000, 1794826810000000, 1794826800000000, NULL, NULL, NULL, 2, NULL);
INSERT INTO the_schema.runs VALUES (10, 2, 'slot', 1794826800000000, 1794826800000000, 1794826800000000, '10', NULL, 1, 0, 'succeeded', NULL, 0, 'default', false, 1, 0, 0, 'w1', 1794826800000000, 1794826810000000, 1794826800000000, NULL, NULL, NULL, 2, NULL);
INSERT INTO the_schema.runs VALUES (12, 2, 'slot', 1794826800000000, 1794826800000000, 1794826800000000, 'p/poll', 'p/poll', 1, 0, 'succeeded', NULL, 0, 'default', false, 1, 0, 0, 'w1', 1794826800000000, 1794826810000000, 1794826800000000, NULL, NULL, NULL, 2, NULL);
INSERT INTO the_schema.runs VALUES (13, 2, 'slot', 1794826800000000, 1794826800000000, 1794826800000000, '13', NULL, 1, 0, 'succeeded', NULL, 0, 'default', false, 1, 0, 0, 'w1', 1794826800000000, 1794826810000000, 1794826800000000, NULL, NULL, NULL, 2, NULL);
INSERT INTO the_schema.runs VALUES (14, 2, 'slot', 1794826800000000, 1794826800000000, 1794826800000000, '14', 'schedule/14', 1, 0, 'succeeded', NULL, 0, 'default', false, 1, 0, 0, 'w1', 1794826800000000, 1794826810000000, 1794826800000000, NULL, NULL, NULL, 2, NULL);
INSERT INTO the_schema.runs VALUES (15, 2, 'slot', 1794826800000000, 1794826800000000, 1794826800000000, '15', NULL, 1, 0, 'succeeded', NULL, 0, 'default', false, 1, 0, 0, 'w1', 1794826800000000, 1794826810000000, 1794826800000000, NULL, NULL, NULL, 2, NULL);
INSERT INTO the_schema.runs VALUES (16, 2, 'slot', 1794826800000000, 1794826800000000, 1794826800000000, '16', NULL, 1, 0, 'succeeded', NULL, 0, 'default', false, 1, 0, 0, 'w1', 1794826800000000, 1794826810000000, 1794826800000000, NULL, NULL, NULL, 2, NULL);
INSERT INTO the_schema.runs VALUES (10, 3, 'slot', 1795129200000000, 1795131238609866, 1795131238609866, '10', NULL, 1, 0, 'skipped', 'paused', 0, 'default', true, 0, 0, 0, NULL, NULL, NULL, 1795131238609866, NULL, NULL, NULL, 3, NULL);
INSERT INTO the_schema.runs VALUES (11, 1, 'slot', 1795078800000000, 1795131238614205, 1795131238614205, '11', NULL, 1, 0, 'skipped', 'deleted', 0, 'default', true, 0, 0, 0, NULL, NULL, NULL, 1795131238614205, NULL, NULL, NULL, 1, NULL);
INSERT INTO the_schema.runs VALUES (1, 3, 'slot', 1794830400000000, 1794830400000000, 1794830400000000, '1', NULL, 1, 0, 'queued', NULL, 0, 'default', false, 0, 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 3, NULL);
INSERT INTO the_schema.runs VALUES (2, 3, 'slot', 1794830400000000, 1794830400000000, 1794830400000000, '2', NULL, 1, 0, 'queued', NULL, 0, 'default', false, 0, 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 3, NULL);
INSERT INTO the_schema.runs VALUES (9, 0, 'slot', 1794830400000000, 1794830400000000, 1794830400000000, 'shared/poll', 'shared/poll', 1, 0, 'queued', NULL, 0, 'default', false, 0, 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL);
INSERT INTO the_schema.runs VALUES (13, 3, 'slot', 1794830400000000, 1794830400000000, 1794830400000000, '13', NULL, 1, 0, 'queued', NULL, 0, 'default', false, 0, 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 3, NULL);
INSERT INTO the_schema.runs VALUES (14, 3, 'slot', 1794830400000000, 1794830400000000, 1794830400000000, '14', 'schedule/14', 1, 0, 'queued', NULL, 0, 'default', false, 0, 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 3, NULL);
INSERT INTO the_schema.runs VALUES (15, 3, 'slot', 1794830400000000, 1794830400000000, 1794830400000000, '15', NULL, 1, 0, 'queued', NULL, 0, 'default', false, 0, 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 3, NULL);
INSERT INTO the_schema.runs VALUES (16, 3, 'slot', 1794830400000000, 1794830400000000, 1794830400000000, '16', NULL, 1, 0, 'queued', NULL, 0, 'default', false, 0, 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 3, NULL);


--
-- Data for Name: schedules; Type: TABLE DATA; Schema: the_schema; Owner: -
--

INSERT INTO the_schema.schedules VALUES (6, 'removed-retrying', 1794816000000000, 1794816000000000, 1794826800000000, 1, 'active', NULL, NULL, NULL, NULL, NULL, 3, 2, 2, 0, 0, 0, NULL, 'ok', '6-2', 1794826800000000, 1794823200000000, '6-1', NULL, NULL, NULL, NULL, NULL, 'test', 1794816000000000, 1794826800000000, 0, 1794826800000000, NULL);
INSERT INTO the_schema.schedules VALUES (7, 'removed-held', 1794816000000000, 1794816000000000, 1794826800000000, 1, 'active', NULL, NULL, NULL, NULL, NULL, 3, 2, 2, 0, 0, 0, NULL, 'ok', '7-2', 1794826800000000, 1794823200000000, '7-1', NULL, NULL, NULL, NULL, NULL, 'test', 1794816000000000, 1794826800000000, 0, 1794826800000000, 'ductile');
INSERT INTO the_schema.schedules VALUES (8, 'removed-running', 1794816000000000, 1794816000000000, 1794826800000000, 1, 'active', NULL, NULL, NULL, NULL, NULL, 3, 2, 2, 0, 0, 0, NULL, 'ok', '8-2', 1794826800000000, 1794823200000000, '8-1', NULL, NULL, NULL, NULL, NULL, 'test', 1794816000000000, 1794826800000000, 0, 1794826800000000, NULL);
INSERT INTO the_schema.schedules VALUES (4, 'retrying', 1794816000000000, 1794816000000000, 1794826800000000, 1, 'active', NULL, NULL, NULL, 1794837600000000, 1794837600000000, 1, 0, 0, 1, 1, 1, 'the attempt failed without an error message', 'error', '4-0', 1794826800000000, NULL, NULL, 1794826800000000, NULL, NULL, NULL, NULL, 'test', 1794816000000000, NULL, 0, 1794826800000000, NULL);
INSERT INTO the_schema.schedules VALUES (3, 'one-shot', 1794816000000000, 1794816000000000, 1794823200000000, 1, 'done', 'no_more_slots', NULL, NULL, NULL, NULL, 1, 1, 1, 0, 0, 0, NULL, 'ok', '3-0', 1794819600000000, 1794819600000000, '3-0', NULL, NULL, NULL, NULL, NULL, 'test', 1794816000000000, NULL, 0, 1794819600000000, NULL);
INSERT INTO the_schema.schedules VALUES (11, 'deleted', 1794816000000000, 1794816000000000, 1795131238614205, 1, 'active', NULL, NULL, NULL, NULL, NULL, 2, 1, 1, 0, 0, 0, NULL, 'ok', '11-1', 1795078800000000, 1794819600000000, '11-0', NULL, NULL, NULL, NULL, NULL, 'test', 1794816000000000, 1795131238614205, 0, 1795131238614205, NULL);
INSERT INTO the_schema.schedules VALUES (5, 'completion-running', 1794816000000000, 1794823200000000, 1794826800000000, 1, 'active', NULL, NULL, NULL, NULL, NULL, 3, 2, 2, 0, 0, 0, NULL, 'ok', '5-2', 1794826800000000, 1794823200000000, '5-1', NULL, NULL, NULL, NULL, NULL, 'test', 1794816000000000, NULL, 0, 1794826800000000, NULL);
INSERT INTO the_schema.schedules VALUES (10, 'paused', 1794816000000000, 1794816000000000, 1795131238609866, 1, 'paused', 'repairs', 'ada', NULL, NULL, NULL, 4, 3, 3, 0, 0, 0, NULL, 'ok', '10-3', 1795129200000000, 1794826800000000, '10-2', NULL, NULL, NULL, NULL, NULL, 'test', 1794816000000000, NULL, 0, 1795131238609866, NULL);
INSERT INTO the_schema.schedules VALUES (12, 'backfilling', 1794816000000000, 1794816000000000, 1794826800000000, 1, 'active', NULL, NULL, NULL, 1794830400000000, 1795131238617785, 3, 3, 3, 0, 0, 0, NULL, 'ok', '12-2', 1794826800000000, 1794826800000000, '12-2', NULL, NULL, '[19,1794817799999999,1794828600000000]', NULL, NULL, 'test', 1794816000000000, NULL, 0, 1794826800000000, 'ductile');
INSERT INTO the_schema.schedules VALUES (1, 'hourly', 1794816000000000, 1794816000000000, 1794830400000000, 1, 'active', NULL, NULL, NULL, 1794834000000000, 1794834000000000, 4, 3, 3, 0, 0, 0, NULL, 'ok', '1-3', 1794830400000000, 1794826800000000, '1-2', NULL, NULL, NULL, NULL, NULL, 'test', 1794816000000000, NULL, 0, 1794830400000000, NULL);
INSERT INTO the_schema.schedules VALUES (2, 'repeating', 1794816000000000, 1794816000000000, 1794830400000000, 1, 'active', NULL, NULL, NULL, 1794834000000000, 1794834000000000, 4, 3, 3, 0, 0, 0, NULL, 'ok', '2-3', 1794830400000000, 1794826800000000, '2-2', NULL, NULL, NULL, NULL, NULL, 'test', 1794816000000000, NULL, 0, 1794830400000000, NULL);
INSERT INTO the_schema.schedules VALUES (9, 'sharing', 1794816000000000, 1794816000000000, 1794830400000000, 1, 'active', NULL, NULL, NULL, 1794834000000000, 1794834000000000, 1, 0, 0, 0, 0, 0, NULL, NULL, '9-0', 1794830400000000, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 'test', 1794816000000000, NULL, 0, 1794830400000000, 'ductile');
INSERT INTO the_schema.schedules VALUES (13, 'prompting', 1794816000000000, 1794816000000000, 1794830400000000, 1, 'active', NULL, NULL, NULL, 1794834000000000, 1794834000000000, 4, 3, 3, 0, 0, 0, NULL, 'ok', '13-3', 1794830400000000, 1794826800000000, '13-2', NULL, NULL, NULL, NULL, NULL, 'test', 1794816000000000, NULL, 0, 1794830400000000, 'agent');
INSERT INTO the_schema.schedules VALUES (14, 'prompting-otherwise', 1794816000000000, 1794816000000000, 1794830400000000, 1, 'active', NULL, NULL, NULL, 1794834000000000, 1794834000000000, 4, 3, 3, 0, 0, 0, NULL, 'ok', '14-3', 1794830400000000, 1794826800000000, '14-2', NULL, NULL, NULL, NULL, NULL, 'test', 1794816000000000, NULL, 0, 1794830400000000, 'ductile');
INSERT INTO the_schema.schedules VALUES (15, 'own-preset', 1794816000000000, 1794816000000000, 1794830400000000, 1, 'active', NULL, NULL, NULL, 1794834000000000, 1794834000000000, 4, 3, 3, 0, 0, 0, NULL, 'ok', '15-3', 1794830400000000, 1794826800000000, '15-2', NULL, NULL, NULL, NULL, NULL, 'test', 1794816000000000, NULL, 0, 1794830400000000, 'agent');
INSERT INTO the_schema.schedules VALUES (16, 'calling', 1794816000000000, 1794826800000000, 1794830400000000, 1, 'active', NULL, NULL, NULL, NULL, NULL, 4, 3, 3, 0, 0, 0, NULL, 'ok', '16-3', 1794830400000000, 1794826800000000, '16-2', NULL, NULL, NULL, NULL, NULL, 'test', 1794816000000000, NULL, 0, 1794830400000000, 'pipelit');


--
-- Data for Name: slots_not_run; Type: TABLE DATA; Schema: the_schema; Owner: -
--

INSERT INTO the_schema.slots_not_run VALUES (9, 1794819600000000, 1794826800000000, 3, 'outstanding_polls');
INSERT INTO the_schema.slots_not_run VALUES (10, 1794830400000000, 1795125600000000, 83, 'coalesced');
INSERT INTO the_schema.slots_not_run VALUES (11, 1794906000000000, 1794992400000000, 2, 'coalesced');


--
-- Data for Name: specifications; Type: TABLE DATA; Schema: the_schema; Owner: -
--

INSERT INTO the_schema.specifications VALUES (1, 1, 'd7ba90ae0c70214014bd140c6b06f0e6', '{"anchor":"slot","args":[],"catch_up":"run_once","catch_up_window":null,"circuit_breaker":"off","delete_after_run":false,"description":null,"dst_fold":"once","dst_gap":"after","enabled":true,"every":"1h","execution":"at_least_once","first_run":"slot","grace":"1m","if_running":"skip","jitter":0,"kwargs":{},"max_catch_up_runs":100,"max_consecutive_errors":0,"max_outstanding_polls":0,"max_retries":0,"name":null,"not_on":[],"on_constraint":"drop","on_exhausted":"continue","only_between":null,"payload":{},"priority":0,"queue":"default","queue_limit":1000,"retry_backoff":"exponential","retry_delay":null,"slot_preempts_retry":false,"tags":[],"task":"work","timeout":"10m","timezone":"UTC","total_repeats":0}', 1794816000000000, NULL);
INSERT INTO the_schema.specifications VALUES (2, 1, '0badbca3966ca191e3e75ca82d4e906e', '{"anchor":"slot","args":[],"catch_up":"run_once","catch_up_window":null,"circuit_breaker":"off","delete_after_run":false,"description":null,"dst_fold":"once","dst_gap":"after","enabled":true,"every":"1h","execution":"at_least_once","first_run":"slot","grace":"1m","if_running":"skip","jitter":0,"kwargs":{},"max_catch_up_runs":100,"max_consecutive_errors":0,"max_outstanding_polls":0,"max_retries":0,"name":null,"not_on":[],"on_constraint":"drop","on_exhausted":"continue","only_between":null,"payload":{},"priority":0,"queue":"default","queue_limit":1000,"retry_backoff":"exponential","retry_delay":null,"slot_preempts_retry":false,"tags":[],"task":"work","timeout":"10m","timezone":"UTC","total_repeats":9}', 1794816000000000, NULL);
INSERT INTO the_schema.specifications VALUES (3, 1, '2a2a2cec0954a726297861604c47d306', '{"args":[],"at":"2026-11-16T09:00:00Z","catch_up":"run_once","catch_up_window":null,"circuit_breaker":"off","delete_after_run":false,"description":null,"enabled":true,"execution":"at_least_once","first_run":"slot","grace":"1m","if_running":"skip","jitter":0,"kwargs":{},"max_catch_up_runs":100,"max_consecutive_errors":0,"max_outstanding_polls":0,"max_retries":0,"name":null,"not_on":[],"on_constraint":"drop","on_exhausted":"continue","only_between":null,"payload":{},"priority":0,"queue":"default","queue_limit":1000,"retry_backoff":"exponential","retry_delay":null,"slot_preempts_retry":false,"tags":[],"task":"work","timeout":"10m","timezone":"UTC","total_repeats":0}', 1794816000000000, NULL);
INSERT INTO the_schema.specifications VALUES (4, 1, 'cc3a94c5ad0af9777208f09c36f16396', '{"anchor":"slot","args":[],"catch_up":"run_once","catch_up_window":null,"circuit_breaker":"off","delete_after_run":false,"description":null,"dst_fold":"once","dst_gap":"after","enabled":true,"every":"3h","execution":"at_least_once","first_run":"slot","grace":"1m","if_running":"skip","jitter":0,"kwargs":{},"max_catch_up_runs":100,"max_consecutive_errors":0,"max_outstanding_polls":0,"max_retries":3,"name":null,"not_on":[],"on_constraint":"drop","on_exhausted":"continue","only_between":null,"payload":{},"priority":0,"queue":"default","queue_limit":1000,"retry_backoff":"exponential","retry_delay":"2h","slot_preempts_retry":false,"tags":[],"task":"work","timeout":"10m","timezone":"UTC","total_repeats":0}', 1794816000000000, NULL);
INSERT INTO the_schema.specifications VALUES (5, 1, '34876e8b373d8116893b04c1fa0bbf40', '{"anchor":"completion","args":[],"catch_up":"run_once","catch_up_window":null,"circuit_breaker":"off","delete_after_run":false,"description":null,"dst_fold":"once","dst_gap":"after","enabled":true,"every":"1h","execution":"at_least_once","first_run":"slot","grace":"1m","if_running":"skip","jitter":0,"kwargs":{},"max_catch_up_runs":100,"max_consecutive_errors":0,"max_outstanding_polls":0,"max_retries":0,"name":null,"not_on":[],"on_constraint":"drop","on_exhausted":"continue","only_between":null,"payload":{},"priority":0,"queue":"default","queue_limit":1000,"retry_backoff":"exponential","retry_delay":null,"slot_preempts_retry":false,"tags":[],"task":"work","timeout":"10m","timezone":"UTC","total_repeats":0}', 1794816000000000, NULL);
INSERT INTO the_schema.specifications VALUES (6, 1, 'da3eac1605e7120291c918ef4a762e13', '{"anchor":"slot","args":[],"catch_up":"run_once","catch_up_window":null,"circuit_breaker":"off","delete_after_run":false,"description":null,"dst_fold":"once","dst_gap":"after","enabled":true,"every":"1h","execution":"at_least_once","first_run":"slot","grace":"1m","if_running":"skip","jitter":0,"kwargs":{},"max_catch_up_runs":100,"max_consecutive_errors":0,"max_outstanding_polls":0,"max_retries":3,"name":null,"not_on":[],"on_constraint":"drop","on_exhausted":"continue","only_between":null,"payload":{},"priority":0,"queue":"default","queue_limit":1000,"retry_backoff":"exponential","retry_delay":null,"slot_preempts_retry":false,"tags":[],"task":"work","timeout":"10m","timezone":"UTC","total_repeats":0}', 1794816000000000, NULL);
INSERT INTO the_schema.specifications VALUES (7, 1, 'a0529e1fa8955696ca3142a2e17c8ee4', '{"anchor":"slot","catch_up":"skip","catch_up_window":null,"circuit_breaker":{"reset_after":"10m","threshold":1},"command":"poll","delete_after_run":false,"description":null,"dst_fold":"once","dst_gap":"after","enabled":true,"every":"1h","execution":"at_least_once","first_run":"slot","grace":"1m","if_running":"skip","jitter":0,"max_catch_up_runs":100,"max_consecutive_errors":0,"max_outstanding_polls":1,"max_retries":3,"name":null,"not_on":[],"on_constraint":"drop","on_exhausted":"continue","only_between":null,"payload":{},"plugin":"shared","priority":0,"queue":"default","queue_limit":1000,"retry_backoff":"exponential","retry_delay":null,"slot_preempts_retry":false,"tags":[],"timeout":"1m","timezone":"UTC","total_repeats":0}', 1794816000000000, NULL);
INSERT INTO the_schema.specifications VALUES (8, 1, '95189c2fd03ce462953da22172a57c84', '{"anchor":"slot","args":[],"catch_up":"run_once","catch_up_window":null,"circuit_breaker":"off","delete_after_run":false,"description":null,"dst_fold":"once","dst_gap":"after","enabled":true,"every":"1h","execution":"at_least_once","first_run":"slot","grace":"1m","if_running":"skip","jitter":0,"kwargs":{},"max_catch_up_runs":100,"max_consecutive_errors":0,"max_outstanding_polls":0,"max_retries":"endless","name":null,"not_on":[],"on_constraint":"drop","on_exhausted":"continue","only_between":null,"payload":{},"priority":0,"queue":"default","queue_limit":1000,"retry_backoff":"exponential","retry_delay":null,"slot_preempts_retry":false,"tags":[],"task":"work","timeout":"10m","timezone":"UTC","total_repeats":0}', 1794816000000000, NULL);
INSERT INTO the_schema.specifications VALUES (9, 1, '5bb776cfd5443ac4930e2d25bdfc7042', '{"anchor":"slot","catch_up":"skip","catch_up_window":null,"circuit_breaker":{"reset_after":"10m","threshold":1},"command":"poll","delete_after_run":false,"description":null,"dst_fold":"once","dst_gap":"after","enabled":true,"every":"1h","execution":"at_least_once","first_run":"slot","grace":"1m","if_running":"queue","jitter":0,"max_catch_up_runs":100,"max_consecutive_errors":0,"max_outstanding_polls":1,"max_retries":0,"name":null,"not_on":[],"on_constraint":"drop","on_exhausted":"continue","only_between":null,"payload":{},"plugin":"shared","priority":0,"queue":"default","queue_limit":1000,"retry_backoff":"exponential","retry_delay":null,"slot_preempts_retry":false,"tags":[],"timeout":"1m","timezone":"UTC","total_repeats":0}', 1794816000000000, NULL);
INSERT INTO the_schema.specifications VALUES (10, 1, '6535dc50bf26be4905884903abfcd30a', '{"args":[],"catch_up":"run_once","catch_up_window":null,"circuit_breaker":"off","cron":"0 * * * *","delete_after_run":false,"description":null,"dialect":"standard","dst_fold":"once","dst_gap":"after","enabled":true,"execution":"at_least_once","first_run":"slot","grace":"1m","if_running":"skip","jitter":0,"kwargs":{},"max_catch_up_runs":100,"max_consecutive_errors":0,"max_outstanding_polls":0,"max_retries":0,"name":null,"not_on":[],"on_constraint":"drop","on_exhausted":"continue","only_between":null,"payload":{},"priority":0,"queue":"default","queue_limit":1000,"retry_backoff":"exponential","retry_delay":null,"slot_preempts_retry":false,"tags":[],"task":"work","timeout":"10m","timezone":"UTC","total_repeats":0}', 1794816000000000, NULL);
INSERT INTO the_schema.specifications VALUES (11, 1, '7546014e45571b987aacb092b1bb4888', '{"args":[],"catch_up":"run_once","catch_up_window":null,"circuit_breaker":"off","daily":{"time":"09:00:00"},"delete_after_run":false,"description":null,"dst_fold":"once","dst_gap":"after","enabled":true,"execution":"at_least_once","first_run":"slot","grace":"1m","if_running":"skip","jitter":0,"kwargs":{},"max_catch_up_runs":100,"max_consecutive_errors":0,"max_outstanding_polls":0,"max_retries":0,"name":null,"not_on":[],"on_constraint":"drop","on_exhausted":"continue","only_between":null,"payload":{},"priority":0,"queue":"default","queue_limit":1000,"retry_backoff":"exponential","retry_delay":null,"slot_preempts_retry":false,"tags":[],"task":"work","timeout":"10m","timezone":"UTC","total_repeats":0}', 1794816000000000, NULL);
INSERT INTO the_schema.specifications VALUES (12, 1, '4aeade99d35c9cc3260eb980d1ec99a7', '{"anchor":"slot","catch_up":"skip","catch_up_window":null,"circuit_breaker":{"reset_after":"30m","threshold":3},"command":"poll","delete_after_run":false,"description":null,"dst_fold":"once","dst_gap":"after","enabled":true,"every":"1h","execution":"at_least_once","first_run":"slot","grace":"1m","if_running":"skip","jitter":0,"max_catch_up_runs":100,"max_consecutive_errors":0,"max_outstanding_polls":0,"max_retries":0,"name":null,"not_on":[],"on_constraint":"drop","on_exhausted":"continue","only_between":null,"payload":{},"plugin":"p","priority":0,"queue":"default","queue_limit":1000,"retry_backoff":"exponential","retry_delay":null,"slot_preempts_retry":false,"tags":[],"timeout":"1m","timezone":"UTC","total_repeats":0}', 1794816000000000, NULL);
INSERT INTO the_schema.specifications VALUES (13, 1, '679a2f22877914f3131773cfab99ee72', '{"anchor":"slot","catch_up":"run_once","catch_up_window":null,"circuit_breaker":"off","delete_after_run":false,"description":null,"dst_fold":"once","dst_gap":"after","enabled":true,"every":"1h","execution":"at_least_once","first_run":"slot","grace":"1m","if_running":"skip","jitter":0,"max_catch_up_runs":100,"max_consecutive_errors":10,"max_outstanding_polls":0,"max_retries":0,"model":null,"name":null,"not_on":[],"on_constraint":"drop","on_exhausted":"continue","only_between":null,"opts":{},"payload":{},"priority":0,"prompt":"Check the queue","queue":"default","queue_limit":1000,"retry_backoff":"exponential","retry_delay":null,"slot_preempts_retry":false,"tags":[],"timeout":"10m","timezone":"UTC","total_repeats":0}', 1794816000000000, NULL);
INSERT INTO the_schema.specifications VALUES (14, 1, 'a5f3d55dbe7d3df50c2af033b50e0379', '{"anchor":"slot","catch_up":"skip","catch_up_window":null,"circuit_breaker":{"reset_after":"30m","threshold":3},"delete_after_run":false,"description":null,"dst_fold":"once","dst_gap":"after","enabled":true,"every":"1h","execution":"at_least_once","first_run":"slot","grace":"1m","if_running":"skip","jitter":0,"max_catch_up_runs":100,"max_consecutive_errors":0,"max_outstanding_polls":0,"max_retries":0,"model":null,"name":null,"not_on":[],"on_constraint":"drop","on_exhausted":"continue","only_between":null,"opts":{},"payload":{},"preset":"ductile","priority":0,"prompt":"Look","queue":"default","queue_limit":1000,"retry_backoff":"exponential","retry_delay":null,"slot_preempts_retry":false,"tags":[],"timeout":"1m","timezone":"UTC","total_repeats":0}', 1794816000000000, NULL);
INSERT INTO the_schema.specifications VALUES (15, 1, '65aab7a9204723d281359efcca4277a1', '{"anchor":"slot","args":[],"catch_up":"run_once","catch_up_window":null,"circuit_breaker":"off","delete_after_run":false,"description":null,"dst_fold":"once","dst_gap":"after","enabled":true,"every":"1h","execution":"at_least_once","first_run":"slot","grace":"1m","if_running":"skip","jitter":0,"kwargs":{},"max_catch_up_runs":100,"max_consecutive_errors":10,"max_outstanding_polls":0,"max_retries":0,"name":null,"not_on":[],"on_constraint":"drop","on_exhausted":"continue","only_between":null,"payload":{},"preset":"agent","priority":0,"queue":"default","queue_limit":1000,"retry_backoff":"exponential","retry_delay":null,"slot_preempts_retry":false,"tags":[],"task":"work","timeout":"10m","timezone":"UTC","total_repeats":0}', 1794816000000000, NULL);
INSERT INTO the_schema.specifications VALUES (16, 1, 'b940f324f7c89a9b40b98139335f981f', '{"anchor":"completion","catch_up":"run_once","catch_up_window":null,"circuit_breaker":"off","delete_after_run":false,"description":null,"dst_fold":"once","dst_gap":"after","enabled":true,"every":"1h","execution":"at_least_once","first_run":"slot","grace":"1m","if_running":"skip","jitter":0,"max_catch_up_runs":100,"max_consecutive_errors":0,"max_outstanding_polls":0,"max_retries":3,"name":null,"not_on":[],"on_constraint":"drop","on_exhausted":"dead","only_between":null,"payload":{},"priority":0,"queue":"default","queue_limit":1000,"retry_backoff":"exponential","retry_delay":null,"slot_preempts_retry":false,"tags":[],"timeout":"10m","timezone":"UTC","total_repeats":0,"trigger_node_id":null,"workflow_id":7}', 1794816000000000, NULL);


--
-- Name: events_id_seq; Type: SEQUENCE SET; Schema: the_schema; Owner: -
--

SELECT pg_catalog.setval('the_schema.events_id_seq', 75, true);


--
-- Name: gate_changes_id_seq; Type: SEQUENCE SET; Schema: the_schema; Owner: -
--

SELECT pg_catalog.setval('the_schema.gate_changes_id_seq', 2, true);


--
-- Name: outbox_id_seq; Type: SEQUENCE SET; Schema: the_schema; Owner: -
--

SELECT pg_catalog.setval('the_schema.outbox_id_seq', 6, true);


--
-- Name: attempts attempts_pkey; Type: CONSTRAINT; Schema: the_schema; Owner: -
--

ALTER TABLE ONLY the_schema.attempts
    ADD CONSTRAINT attempts_pkey PRIMARY KEY (schedule_id, number, attempt);


--
-- Name: audit audit_pkey; Type: CONSTRAINT; Schema: the_schema; Owner: -
--

ALTER TABLE ONLY the_schema.audit
    ADD CONSTRAINT audit_pkey PRIMARY KEY (id);


--
-- Name: counters counters_pkey; Type: CONSTRAINT; Schema: the_schema; Owner: -
--

ALTER TABLE ONLY the_schema.counters
    ADD CONSTRAINT counters_pkey PRIMARY KEY (name);


--
-- Name: daily_stats daily_stats_pkey; Type: CONSTRAINT; Schema: the_schema; Owner: -
--

ALTER TABLE ONLY the_schema.daily_stats
    ADD CONSTRAINT daily_stats_pkey PRIMARY KEY (day, schedule_id);


--
-- Name: events events_pkey; Type: CONSTRAINT; Schema: the_schema; Owner: -
--

ALTER TABLE ONLY the_schema.events
    ADD CONSTRAINT events_pkey PRIMARY KEY (id);


--
-- Name: gate_changes gate_changes_pkey; Type: CONSTRAINT; Schema: the_schema; Owner: -
--

ALTER TABLE ONLY the_schema.gate_changes
    ADD CONSTRAINT gate_changes_pkey PRIMARY KEY (id);


--
-- Name: gates gates_pkey; Type: CONSTRAINT; Schema: the_schema; Owner: -
--

ALTER TABLE ONLY the_schema.gates
    ADD CONSTRAINT gates_pkey PRIMARY KEY (key);


--
-- Name: metadata metadata_pkey; Type: CONSTRAINT; Schema: the_schema; Owner: -
--

ALTER TABLE ONLY the_schema.metadata
    ADD CONSTRAINT metadata_pkey PRIMARY KEY (name);


--
-- Name: migrations migrations_pkey; Type: CONSTRAINT; Schema: the_schema; Owner: -
--

ALTER TABLE ONLY the_schema.migrations
    ADD CONSTRAINT migrations_pkey PRIMARY KEY (number);


--
-- Name: nodes nodes_pkey; Type: CONSTRAINT; Schema: the_schema; Owner: -
--

ALTER TABLE ONLY the_schema.nodes
    ADD CONSTRAINT nodes_pkey PRIMARY KEY (name);


--
-- Name: outbox outbox_pkey; Type: CONSTRAINT; Schema: the_schema; Owner: -
--

ALTER TABLE ONLY the_schema.outbox
    ADD CONSTRAINT outbox_pkey PRIMARY KEY (id);


--
-- Name: output output_pkey; Type: CONSTRAINT; Schema: the_schema; Owner: -
--

ALTER TABLE ONLY the_schema.output
    ADD CONSTRAINT output_pkey PRIMARY KEY (schedule_id, number, attempt, sequence);


--
-- Name: planner_state planner_state_pkey; Type: CONSTRAINT; Schema: the_schema; Owner: -
--

ALTER TABLE ONLY the_schema.planner_state
    ADD CONSTRAINT planner_state_pkey PRIMARY KEY (id);


--
-- Name: runs runs_pkey; Type: CONSTRAINT; Schema: the_schema; Owner: -
--

ALTER TABLE ONLY the_schema.runs
    ADD CONSTRAINT runs_pkey PRIMARY KEY (schedule_id, number);


--
-- Name: schedules schedules_pkey; Type: CONSTRAINT; Schema: the_schema; Owner: -
--

ALTER TABLE ONLY the_schema.schedules
    ADD CONSTRAINT schedules_pkey PRIMARY KEY (id);


--
-- Name: slots_not_run slots_not_run_pkey; Type: CONSTRAINT; Schema: the_schema; Owner: -
--

ALTER TABLE ONLY the_schema.slots_not_run
    ADD CONSTRAINT slots_not_run_pkey PRIMARY KEY (schedule_id, first);


--
-- Name: specifications specifications_pkey; Type: CONSTRAINT; Schema: the_schema; Owner: -
--

ALTER TABLE ONLY the_schema.specifications
    ADD CONSTRAINT specifications_pkey PRIMARY KEY (schedule_id, version);


--
-- Name: audit_by_age; Type: INDEX; Schema: the_schema; Owner: -
--

CREATE INDEX audit_by_age ON the_schema.audit USING btree (at);


--
-- Name: audit_by_schedule; Type: INDEX; Schema: the_schema; Owner: -
--

CREATE INDEX audit_by_schedule ON the_schema.audit USING btree (schedule_id, id);


--
-- Name: events_by_age; Type: INDEX; Schema: the_schema; Owner: -
--

CREATE INDEX events_by_age ON the_schema.events USING btree (at);


--
-- Name: gate_changes_by_age; Type: INDEX; Schema: the_schema; Owner: -
--

CREATE INDEX gate_changes_by_age ON the_schema.gate_changes USING btree (at);


--
-- Name: gate_changes_by_key; Type: INDEX; Schema: the_schema; Owner: -
--

CREATE INDEX gate_changes_by_key ON the_schema.gate_changes USING btree (key, id);


--
-- Name: outbox_by_age; Type: INDEX; Schema: the_schema; Owner: -
--

CREATE INDEX outbox_by_age ON the_schema.outbox USING btree (at);


--
-- Name: outbox_unsent; Type: INDEX; Schema: the_schema; Owner: -
--

CREATE INDEX outbox_unsent ON the_schema.outbox USING btree (id) WHERE (sent_at IS NULL);


--
-- Name: output_by_age; Type: INDEX; Schema: the_schema; Owner: -
--

CREATE INDEX output_by_age ON the_schema.output USING btree (at);


--
-- Name: runs_by_slot; Type: INDEX; Schema: the_schema; Owner: -
--

CREATE UNIQUE INDEX runs_by_slot ON the_schema.runs USING btree (schedule_id, slot, request);


--
-- Name: runs_finished; Type: INDEX; Schema: the_schema; Owner: -
--

CREATE INDEX runs_finished ON the_schema.runs USING btree (finished_at) WHERE (finished_at IS NOT NULL);


--
-- Name: runs_held; Type: INDEX; Schema: the_schema; Owner: -
--

CREATE INDEX runs_held ON the_schema.runs USING btree (scope, schedule_id, number) WHERE (state = 'held'::text);


--
-- Name: runs_open; Type: INDEX; Schema: the_schema; Owner: -
--

CREATE INDEX runs_open ON the_schema.runs USING btree (scope) WHERE (finished_at IS NULL);


--
-- Name: runs_planned; Type: INDEX; Schema: the_schema; Owner: -
--

CREATE INDEX runs_planned ON the_schema.runs USING btree (planned_at);


--
-- Name: runs_queued; Type: INDEX; Schema: the_schema; Owner: -
--

CREATE INDEX runs_queued ON the_schema.runs USING btree (queue, priority DESC, ready_at, schedule_id, number) WHERE (state = 'queued'::text);


--
-- Name: runs_running; Type: INDEX; Schema: the_schema; Owner: -
--

CREATE INDEX runs_running ON the_schema.runs USING btree (lease_until) WHERE (state = 'running'::text);


--
-- Name: schedules_by_key; Type: INDEX; Schema: the_schema; Owner: -
--

CREATE UNIQUE INDEX schedules_by_key ON the_schema.schedules USING btree (key) WHERE (deleted_at IS NULL);


--
-- Name: schedules_by_name; Type: INDEX; Schema: the_schema; Owner: -
--

CREATE INDEX schedules_by_name ON the_schema.schedules USING btree (name) WHERE ((name IS NOT NULL) AND (deleted_at IS NULL));


--
-- Name: schedules_by_owner; Type: INDEX; Schema: the_schema; Owner: -
--

CREATE INDEX schedules_by_owner ON the_schema.schedules USING btree (owner, key) WHERE (owner IS NOT NULL);


--
-- Name: schedules_by_preset; Type: INDEX; Schema: the_schema; Owner: -
--

CREATE INDEX schedules_by_preset ON the_schema.schedules USING btree (preset) WHERE ((preset IS NOT NULL) AND (deleted_at IS NULL));


--
-- Name: schedules_by_wake; Type: INDEX; Schema: the_schema; Owner: -
--

CREATE INDEX schedules_by_wake ON the_schema.schedules USING btree (sign((priority)::double precision), wake_at, id) WHERE (wake_at IS NOT NULL);


--
-- Name: slots_not_run_by_age; Type: INDEX; Schema: the_schema; Owner: -
--

CREATE INDEX slots_not_run_by_age ON the_schema.slots_not_run USING btree (last);


--
-- Name: audit audit_is_never_changed; Type: TRIGGER; Schema: the_schema; Owner: -
--

CREATE TRIGGER audit_is_never_changed BEFORE UPDATE ON the_schema.audit FOR EACH ROW EXECUTE FUNCTION the_schema.audit_is_never_changed();


--
-- PostgreSQL database dump complete
--


