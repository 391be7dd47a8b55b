-- +goose Up

-- Times are microseconds since 1970 in UTC, 0 is the zero time.

CREATE TABLE orchestrations (
    id TEXT NOT NULL PRIMARY KEY,
    type TEXT NOT NULL,
    state TEXT NOT NULL,
    description TEXT NOT NULL DEFAULT '',
    parameters TEXT NOT NULL,
    not_before BIGINT NOT NULL DEFAULT 0,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    resolved_at BIGINT NOT NULL DEFAULT 0,
    finished_at BIGINT NOT NULL DEFAULT 0,
    created_by TEXT NOT NULL DEFAULT '',
    idempotency_key TEXT NOT NULL DEFAULT '',
    body_hash TEXT NOT NULL DEFAULT '',
    fence BIGINT NOT NULL DEFAULT 0,
    lease_until BIGINT NOT NULL DEFAULT 0,
    count_pending INTEGER NOT NULL DEFAULT 0,
    count_in_progress INTEGER NOT NULL DEFAULT 0,
    count_succeeded INTEGER NOT NULL DEFAULT 0,
    count_failed INTEGER NOT NULL DEFAULT 0,
    count_canceled INTEGER NOT NULL DEFAULT 0,
    left_out INTEGER NOT NULL DEFAULT 0,
    left_out_why TEXT NOT NULL DEFAULT ''
);

CREATE INDEX orchestrations_created ON orchestrations (created_at DESC, id);
CREATE INDEX orchestrations_state ON orchestrations (state, created_at DESC, id);
CREATE INDEX orchestrations_type ON orchestrations (type, created_at DESC, id);
CREATE INDEX orchestrations_finished ON orchestrations (finished_at) WHERE finished_at > 0;
CREATE UNIQUE INDEX orchestrations_key ON orchestrations (created_by, idempotency_key) WHERE idempotency_key <> '';

CREATE TABLE operations (
    id TEXT NOT NULL PRIMARY KEY,
    orchestration_id TEXT NOT NULL REFERENCES orchestrations (id) ON DELETE CASCADE,
    type TEXT NOT NULL,
    position INTEGER NOT NULL,
    runtime_id TEXT NOT NULL,
    instance_id TEXT NOT NULL,
    global_account_id TEXT NOT NULL DEFAULT '',
    sub_account_id TEXT NOT NULL DEFAULT '',
    shoot_name TEXT NOT NULL DEFAULT '',
    region TEXT NOT NULL DEFAULT '',
    service_plan_id TEXT NOT NULL DEFAULT '',
    service_plan_name TEXT NOT NULL DEFAULT '',
    dry_run BOOLEAN NOT NULL DEFAULT FALSE,
    state TEXT NOT NULL,
    description TEXT NOT NULL DEFAULT '',
    reason TEXT NOT NULL DEFAULT '',
    uses_window BOOLEAN NOT NULL DEFAULT FALSE,
    window_rule TEXT NOT NULL DEFAULT '',
    window_begin BIGINT NOT NULL DEFAULT 0,
    window_end BIGINT NOT NULL DEFAULT 0,
    -- The order of admission: windows that end earlier come first, those without an end last.
    window_order BIGINT NOT NULL GENERATED ALWAYS AS (CASE WHEN window_end = 0 THEN 9223372036854775807 ELSE window_end END) STORED,
    not_before BIGINT NOT NULL DEFAULT 0,
    attempt INTEGER NOT NULL DEFAULT 0,
    fence BIGINT NOT NULL DEFAULT 0,
    lease_until BIGINT NOT NULL DEFAULT 0,
    check_at BIGINT NOT NULL DEFAULT 0,
    sent BOOLEAN NOT NULL DEFAULT FALSE,
    -- True when something may have been sent that nobody has an answer to.
    uncertain BOOLEAN NOT NULL DEFAULT FALSE,
    following BOOLEAN NOT NULL DEFAULT FALSE,
    failures INTEGER NOT NULL DEFAULT 0,
    memo TEXT,
    time_limit_from BIGINT NOT NULL DEFAULT 0,
    version TEXT NOT NULL DEFAULT '',
    kyma_config TEXT,
    cluster_config TEXT,
    finished_stages TEXT NOT NULL DEFAULT '',
    retry_of TEXT NOT NULL DEFAULT '',
    superseded BOOLEAN NOT NULL DEFAULT FALSE,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    started_at BIGINT NOT NULL DEFAULT 0,
    finished_at BIGINT NOT NULL DEFAULT 0,
    job_id BIGINT NOT NULL DEFAULT 0
);

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
    orchestration_id TEXT NOT NULL REFERENCES orchestrations (id) ON DELETE CASCADE,
    position INTEGER NOT NULL,
    shoot_name TEXT NOT NULL DEFAULT '',
    runtime_id TEXT NOT NULL DEFAULT '',
    instance_id TEXT NOT NULL DEFAULT '',
    reason TEXT NOT NULL DEFAULT '',
    description TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (orchestration_id, position)
);

-- The answers to retries that came with an idempotency key.
CREATE TABLE retries (
    created_by TEXT NOT NULL,
    idempotency_key TEXT NOT NULL,
    orchestration_id TEXT NOT NULL REFERENCES orchestrations (id) ON DELETE CASCADE,
    body_hash TEXT NOT NULL,
    answer TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (created_by, idempotency_key)
);

CREATE INDEX retries_orchestration ON retries (orchestration_id);

CREATE TABLE runtimes (
    instance_id TEXT NOT NULL PRIMARY KEY,
    runtime_id TEXT NOT NULL DEFAULT '',
    global_account_id TEXT NOT NULL DEFAULT '',
    sub_account_id TEXT NOT NULL DEFAULT '',
    region TEXT NOT NULL DEFAULT '',
    platform_region TEXT NOT NULL DEFAULT '',
    shoot_name TEXT NOT NULL DEFAULT '',
    plan_id TEXT NOT NULL DEFAULT '',
    plan_name TEXT NOT NULL DEFAULT '',
    state TEXT NOT NULL,
    -- True for the states that a list without a state filter leaves out.
    hidden BOOLEAN NOT NULL DEFAULT FALSE,
    expired BOOLEAN NOT NULL DEFAULT FALSE,
    created_at BIGINT NOT NULL DEFAULT 0,
    updated_at BIGINT NOT NULL DEFAULT 0,
    source TEXT NOT NULL DEFAULT '',
    -- What the document says about the runtime's past, in the short form from which the state is derived.
    history TEXT NOT NULL DEFAULT '',
    document TEXT NOT NULL
);

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
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    state TEXT NOT NULL,
    n INTEGER NOT NULL
);

CREATE TABLE events (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    at BIGINT NOT NULL,
    kind TEXT NOT NULL,
    level TEXT NOT NULL,
    orchestration_id TEXT NOT NULL DEFAULT '',
    operation_id TEXT NOT NULL DEFAULT '',
    runtime_id TEXT NOT NULL DEFAULT '',
    instance_id TEXT NOT NULL DEFAULT '',
    from_state TEXT NOT NULL DEFAULT '',
    to_state TEXT NOT NULL DEFAULT '',
    message TEXT NOT NULL DEFAULT '',
    actor TEXT NOT NULL DEFAULT ''
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
