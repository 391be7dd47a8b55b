-- +goose Up

-- Times are microseconds since 1970 in UTC, 0 is the zero time.

CREATE TABLE orchestrations (
    id text COLLATE "C" NOT NULL PRIMARY KEY,
    type text COLLATE "C" NOT NULL,
    state text COLLATE "C" NOT NULL,
    description text COLLATE "C" NOT NULL DEFAULT '',
    parameters text COLLATE "C" NOT NULL,
    not_before bigint NOT NULL DEFAULT 0,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    resolved_at bigint NOT NULL DEFAULT 0,
    finished_at bigint NOT NULL DEFAULT 0,
    created_by text COLLATE "C" NOT NULL DEFAULT '',
    idempotency_key text COLLATE "C" NOT NULL DEFAULT '',
    body_hash text COLLATE "C" NOT NULL DEFAULT '',
    fence bigint NOT NULL DEFAULT 0,
    lease_until bigint NOT NULL DEFAULT 0,
    count_pending integer NOT NULL DEFAULT 0,
    count_in_progress integer NOT NULL DEFAULT 0,
    count_succeeded integer NOT NULL DEFAULT 0,
    count_failed integer NOT NULL DEFAULT 0,
    count_canceled integer NOT NULL DEFAULT 0,
    left_out integer NOT NULL DEFAULT 0,
    left_out_why text COLLATE "C" NOT NULL DEFAULT ''
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);

CREATE INDEX orchestrations_created ON orchestrations (created_at DESC, id);
CREATE INDEX orchestrations_state ON orchestrations (state, created_at DESC, id);
CREATE INDEX orchestrations_type ON orchestrations (type, created_at DESC, id);
CREATE INDEX orchestrations_finished ON orchestrations (finished_at) WHERE finished_at > 0;
CREATE UNIQUE INDEX orchestrations_key ON orchestrations (created_by, idempotency_key) WHERE idempotency_key <> '';

CREATE TABLE operations (
    id text COLLATE "C" NOT NULL PRIMARY KEY,
    orchestration_id text COLLATE "C" NOT NULL REFERENCES orchestrations (id) ON DELETE CASCADE,
    type text COLLATE "C" NOT NULL,
    position integer NOT NULL,
    runtime_id text COLLATE "C" NOT NULL,
    instance_id text COLLATE "C" NOT NULL,
    global_account_id text COLLATE "C" NOT NULL DEFAULT '',
    sub_account_id text COLLATE "C" NOT NULL DEFAULT '',
    shoot_name text COLLATE "C" NOT NULL DEFAULT '',
    region text COLLATE "C" NOT NULL DEFAULT '',
    service_plan_id text COLLATE "C" NOT NULL DEFAULT '',
    service_plan_name text COLLATE "C" NOT NULL DEFAULT '',
    dry_run boolean NOT NULL DEFAULT FALSE,
    state text COLLATE "C" NOT NULL,
    description text COLLATE "C" NOT NULL DEFAULT '',
    reason text COLLATE "C" NOT NULL DEFAULT '',
    uses_window boolean NOT NULL DEFAULT FALSE,
    window_rule text COLLATE "C" NOT NULL DEFAULT '',
    window_begin bigint NOT NULL DEFAULT 0,
    window_end bigint NOT NULL DEFAULT 0,
    -- The order of admission: windows that end earlier come first, those without an end last.
    window_order bigint NOT NULL GENERATED ALWAYS AS (CASE WHEN window_end = 0 THEN 9223372036854775807 ELSE window_end END) STORED,
    not_before bigint NOT NULL DEFAULT 0,
    attempt integer NOT NULL DEFAULT 0,
    fence bigint NOT NULL DEFAULT 0,
    lease_until bigint NOT NULL DEFAULT 0,
    check_at bigint NOT NULL DEFAULT 0,
    sent boolean NOT NULL DEFAULT FALSE,
    -- True when something may have been sent that nobody has an answer to.
    uncertain boolean NOT NULL DEFAULT FALSE,
    following boolean NOT NULL DEFAULT FALSE,
    failures integer NOT NULL DEFAULT 0,
    memo text COLLATE "C",
    time_limit_from bigint NOT NULL DEFAULT 0,
    version text COLLATE "C" NOT NULL DEFAULT '',
    kyma_config text COLLATE "C",
    cluster_config text COLLATE "C",
    finished_stages text COLLATE "C" NOT NULL DEFAULT '',
    retry_of text COLLATE "C" NOT NULL DEFAULT '',
    superseded boolean NOT NULL DEFAULT FALSE,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    started_at bigint NOT NULL DEFAULT 0,
    finished_at bigint NOT NULL DEFAULT 0,
    job_id bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);

-- One runtime has at most one operation in progress, whatever orchestration it is of.
CREATE UNIQUE INDEX operations_busy ON operations (runtime_id) WHERE state = 'in progress';
CREATE INDEX operations_pending ON operations (orchestration_id, window_order, position, window_begin) WHERE state = 'pending';
CREATE INDEX operations_list ON operations (orchestration_id, superseded, created_at DESC, position, id);
CREATE INDEX operations_state ON operations (orchestration_id, superseded, state, created_at DESC, position, id);
CREATE INDEX operations_runtime ON operations (runtime_id, type, created_at DESC);
-- What the operations mean for the states of their runtimes is read from the index alone.
CREATE INDEX operations_own ON operations (instance_id, started_at, state, type, id, created_at, dry_run) WHERE dry_run = FALSE AND state <> 'pending';
CREATE INDEX operations_retrying ON operations (id) WHERE state = 'retrying';

CREATE TABLE left_out (
    orchestration_id text COLLATE "C" NOT NULL REFERENCES orchestrations (id) ON DELETE CASCADE,
    position integer NOT NULL,
    shoot_name text COLLATE "C" NOT NULL DEFAULT '',
    runtime_id text COLLATE "C" NOT NULL DEFAULT '',
    instance_id text COLLATE "C" NOT NULL DEFAULT '',
    reason text COLLATE "C" NOT NULL DEFAULT '',
    description text COLLATE "C" NOT NULL DEFAULT '',
    PRIMARY KEY (orchestration_id, position)
);

-- The answers to retries that came with an idempotency key.
CREATE TABLE retries (
    created_by text COLLATE "C" NOT NULL,
    idempotency_key text COLLATE "C" NOT NULL,
    orchestration_id text COLLATE "C" NOT NULL REFERENCES orchestrations (id) ON DELETE CASCADE,
    body_hash text COLLATE "C" NOT NULL,
    answer text COLLATE "C" NOT NULL,
    created_at bigint NOT NULL,
    PRIMARY KEY (created_by, idempotency_key)
);

CREATE INDEX retries_orchestration ON retries (orchestration_id);

CREATE TABLE runtimes (
    instance_id text COLLATE "C" NOT NULL PRIMARY KEY,
    runtime_id text COLLATE "C" NOT NULL DEFAULT '',
    global_account_id text COLLATE "C" NOT NULL DEFAULT '',
    sub_account_id text COLLATE "C" NOT NULL DEFAULT '',
    region text COLLATE "C" NOT NULL DEFAULT '',
    platform_region text COLLATE "C" NOT NULL DEFAULT '',
    shoot_name text COLLATE "C" NOT NULL DEFAULT '',
    plan_id text COLLATE "C" NOT NULL DEFAULT '',
    plan_name text COLLATE "C" NOT NULL DEFAULT '',
    state text COLLATE "C" NOT NULL,
    -- True for the states that a list without a state filter leaves out.
    hidden boolean NOT NULL DEFAULT FALSE,
    expired boolean NOT NULL DEFAULT FALSE,
    created_at bigint NOT NULL DEFAULT 0,
    updated_at bigint NOT NULL DEFAULT 0,
    source text COLLATE "C" NOT NULL DEFAULT '',
    -- What the document says about the runtime's past, in the short form from which the state is derived.
    history text COLLATE "C" NOT NULL DEFAULT '',
    document text COLLATE "C" NOT NULL
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);

CREATE INDEX runtimes_hidden ON runtimes (hidden, created_at, instance_id);
CREATE INDEX runtimes_created ON runtimes (created_at, instance_id);
CREATE INDEX runtimes_state ON runtimes (state, created_at, instance_id);
CREATE INDEX runtimes_runtime ON runtimes (runtime_id, created_at, instance_id, hidden);
CREATE INDEX runtimes_account ON runtimes (global_account_id, created_at, instance_id, hidden, plan_name, region);
CREATE INDEX runtimes_subaccount ON runtimes (sub_account_id, created_at, instance_id, hidden, plan_name, region);
CREATE INDEX runtimes_region ON runtimes (region, created_at, instance_id, hidden, plan_name);
CREATE INDEX runtimes_shoot ON runtimes (shoot_name, created_at, instance_id, hidden);
CREATE INDEX runtimes_plan ON runtimes (plan_name, created_at, instance_id, hidden, region);
CREATE INDEX runtimes_expired ON runtimes (created_at, instance_id, hidden) WHERE expired = TRUE;
-- Sources compare what they know with this again and again; it holds all that they ask for, without the documents.
CREATE INDEX runtimes_source ON runtimes (source, instance_id, state, runtime_id, shoot_name);

-- How many runtimes are in each state, as the sum of changes: rows are only added, so that writers never wait for each other, and folded
-- into one from time to time.
CREATE TABLE runtime_counts (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    state text COLLATE "C" NOT NULL,
    n integer NOT NULL
);

CREATE TABLE events (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at bigint NOT NULL,
    kind text COLLATE "C" NOT NULL,
    level text COLLATE "C" NOT NULL,
    orchestration_id text COLLATE "C" NOT NULL DEFAULT '',
    operation_id text COLLATE "C" NOT NULL DEFAULT '',
    runtime_id text COLLATE "C" NOT NULL DEFAULT '',
    instance_id text COLLATE "C" NOT NULL DEFAULT '',
    from_state text COLLATE "C" NOT NULL DEFAULT '',
    to_state text COLLATE "C" NOT NULL DEFAULT '',
    message text COLLATE "C" NOT NULL DEFAULT '',
    actor text COLLATE "C" NOT NULL DEFAULT ''
);

CREATE INDEX events_at ON events (at);
CREATE INDEX events_orchestration ON events (orchestration_id, id) WHERE orchestration_id <> '';
CREATE INDEX events_operation ON events (operation_id, id) WHERE operation_id <> '';
CREATE INDEX events_instance ON events (instance_id, id) WHERE instance_id <> '';
CREATE INDEX events_error ON events (id) WHERE level = 'error';

-- +goose Down

DROP TABLE events;
DROP TABLE runtime_counts;
DROP TABLE runtimes;
DROP TABLE left_out;
DROP TABLE operations;
DROP TABLE orchestrations;
