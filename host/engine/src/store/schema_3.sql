-- Where a namespace's readers go on from: what its sessions should hear of, in the order in which it was committed. An entry
-- that is news has a number within its namespace (`feed`): what others do is not to be seen by it.
CREATE TABLE namespace (
    id     INTEGER PRIMARY KEY,
    name   TEXT NOT NULL UNIQUE,
    -- The last number that was given, and the last that retention took.
    news   INTEGER NOT NULL DEFAULT 0,
    floor  INTEGER NOT NULL DEFAULT 0,
    -- Webhooks that are on, and what its callbacks are signed with.
    hooks  INTEGER NOT NULL DEFAULT 0,
    secret TEXT
);
ALTER TABLE entry ADD COLUMN feed INTEGER;
ALTER TABLE entry ADD COLUMN news INTEGER;
CREATE UNIQUE INDEX entry_news ON entry (feed, news) WHERE news IS NOT NULL;

-- Where the caller wants to be told of the task, as JSON; and the trace that it was started in.
ALTER TABLE task ADD COLUMN callback TEXT;
ALTER TABLE task ADD COLUMN traceparent TEXT;

-- What its tool is to speak to people in, and by which clock, if the caller said so.
ALTER TABLE task ADD COLUMN locale TEXT;
ALTER TABLE task ADD COLUMN time_zone TEXT;

-- How far a reader of a namespace's news has come that this database remembers. `owner`: the process that brings it news.
CREATE TABLE subscription (
    namespace TEXT NOT NULL,
    name      TEXT NOT NULL,
    -- NULL: nothing yet.
    cursor    INTEGER,
    owner     INTEGER,
    PRIMARY KEY (namespace, name)
) WITHOUT ROWID;

-- Who is sent word of a namespace's news. `disabled`: why no more.
CREATE TABLE webhook (
    id         TEXT PRIMARY KEY NOT NULL,
    namespace  TEXT NOT NULL,
    url        TEXT NOT NULL,
    secret     TEXT NOT NULL,
    -- A JSON list.
    events     TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    disabled   TEXT
) WITHOUT ROWID;
CREATE INDEX webhook_namespace ON webhook (namespace);

-- The outbox: a message to one receiver. It is written with what it tells of, and sent until it was received.
CREATE TABLE delivery (
    n          INTEGER PRIMARY KEY AUTOINCREMENT,
    id         TEXT NOT NULL UNIQUE,
    namespace  TEXT NOT NULL,
    -- NULL: a task's callback.
    webhook    TEXT,
    url        TEXT NOT NULL,
    -- The receiver: host and port of `url`.
    receiver   TEXT NOT NULL,
    -- NULL: the webhook's, or the namespace's.
    secret     TEXT,
    task       TEXT NOT NULL,
    event      TEXT NOT NULL,
    body       TEXT NOT NULL,
    state      TEXT NOT NULL DEFAULT 'pending',
    created_at INTEGER NOT NULL,
    -- When it is to be sent; NULL: no more. `owner`: who is sending it.
    due_at     INTEGER,
    owner      INTEGER,
    tries      INTEGER NOT NULL DEFAULT 0,
    status     INTEGER,
    problem    TEXT,
    tried_at   INTEGER,
    ended_at   INTEGER
);
-- What is due in one namespace is found without looking at another's; to whom, and whether somebody is sending it, without
-- looking at the message.
CREATE INDEX delivery_due ON delivery (namespace, due_at, owner, receiver) WHERE due_at IS NOT NULL;
CREATE INDEX delivery_owner ON delivery (owner) WHERE owner IS NOT NULL;
CREATE INDEX delivery_namespace ON delivery (namespace, n);
CREATE INDEX delivery_webhook ON delivery (webhook) WHERE webhook IS NOT NULL;
CREATE INDEX delivery_ended ON delivery (ended_at) WHERE ended_at IS NOT NULL;

-- What of HTTP a task has used: requests, and bytes of their bodies and of the responses'.
ALTER TABLE task ADD COLUMN http_exchanges INTEGER NOT NULL DEFAULT 0;
ALTER TABLE task ADD COLUMN http_bytes INTEGER NOT NULL DEFAULT 0;

-- Who may speak to a server on this data. The secret itself is nowhere: `hash` is its SHA-256.
CREATE TABLE token (
    id         TEXT PRIMARY KEY NOT NULL,
    hash       BLOB NOT NULL,
    namespace  TEXT NOT NULL,
    -- A JSON list.
    scopes     TEXT NOT NULL,
    name       TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER
) WITHOUT ROWID;

-- A namespace's tasks in the order of their ids, which is that of their starts: what lists look through.
CREATE INDEX task_namespace ON task (namespace, id);

-- Keys that only this database's processes know, by what they are for. A backup has none of them.
CREATE TABLE key (
    name  TEXT PRIMARY KEY NOT NULL,
    bytes BLOB NOT NULL
) WITHOUT ROWID;

-- The most bytes of memory that a guest of the task had; and the limits that are nearly used up, by name, and told of.
ALTER TABLE task ADD COLUMN memory INTEGER NOT NULL DEFAULT 0;
ALTER TABLE task ADD COLUMN near TEXT;

-- Fuel of the segment that has not ended, as of the last commit, as far as it was known: for readers. It counts against the
-- limit when the segment ends, in `fuel`; a replay burns it again.
ALTER TABLE task ADD COLUMN segment_fuel INTEGER NOT NULL DEFAULT 0;

-- The questions that may be answered: what the inbox of a namespace looks through, in the order in which it shows them.
ALTER TABLE question ADD COLUMN namespace TEXT;
UPDATE question SET namespace = (SELECT namespace FROM task WHERE task.n = question.task) WHERE reply IS NULL;
CREATE INDEX question_open ON question (namespace, deadline IS NULL, deadline) WHERE reply IS NULL;
