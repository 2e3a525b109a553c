-- A plugin's file and manifest. One that was removed stays while a task, ended or not, was run by it.
CREATE TABLE plugin (
    digest       TEXT PRIMARY KEY NOT NULL,
    name         TEXT NOT NULL,
    version      TEXT NOT NULL,
    manifest     TEXT NOT NULL,
    size         INTEGER NOT NULL,
    installed_at INTEGER NOT NULL,
    removed      INTEGER NOT NULL DEFAULT 0,
    component    BLOB NOT NULL
);
CREATE INDEX plugin_name ON plugin (name, installed_at);

-- A host process, alive while it holds the lock on its file (see `owners` beside the database).
CREATE TABLE owner (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    pid        INTEGER NOT NULL,
    started_at INTEGER NOT NULL
);

CREATE TABLE task (
    n           INTEGER PRIMARY KEY AUTOINCREMENT,
    id          TEXT NOT NULL UNIQUE,
    namespace   TEXT NOT NULL,
    session     TEXT,
    digest      TEXT NOT NULL,
    tool        TEXT NOT NULL,
    input       TEXT NOT NULL,
    context     TEXT NOT NULL,
    settings    TEXT NOT NULL,
    limits      TEXT NOT NULL,
    -- The caller's idempotency key, and a hash of the request it came with.
    idem_key    TEXT,
    idem_hash   BLOB,
    state       TEXT NOT NULL,
    waiting_on  TEXT,
    wait_until  INTEGER,
    -- When a waiting task must be looked at: it goes on by itself, or its deadline has come.
    due_at      INTEGER,
    attempt     INTEGER NOT NULL DEFAULT 0,
    failures    INTEGER NOT NULL DEFAULT 0,
    -- Whether a guest stands in the current segment, in memory or by replay.
    begun       INTEGER NOT NULL DEFAULT 0,
    -- The entry that the current attempt and segment began with.
    attempt_seq INTEGER NOT NULL DEFAULT 0,
    segment     INTEGER NOT NULL DEFAULT 0,
    segment_seq INTEGER NOT NULL DEFAULT 0,
    ticket      BLOB,
    -- How often the ticket came back unchanged.
    ticket_same INTEGER NOT NULL DEFAULT 0,
    cancel      INTEGER NOT NULL DEFAULT 0,
    created_at  INTEGER NOT NULL,
    updated_at  INTEGER NOT NULL,
    ended_at    INTEGER,
    deadline    INTEGER NOT NULL,
    last_seq    INTEGER NOT NULL DEFAULT 0,
    -- The last entry that readers see.
    public_seq  INTEGER NOT NULL DEFAULT 0,
    progress    TEXT,
    -- Fuel of the segments that ended, and the milliseconds that guests computed.
    fuel        INTEGER NOT NULL DEFAULT 0,
    run_ms      INTEGER NOT NULL DEFAULT 0,
    -- The entry that tells how it ended.
    ended_seq   INTEGER,
    owner       INTEGER,
    epoch       INTEGER NOT NULL DEFAULT 0,
    -- Owners that died while this task was theirs to run.
    deaths      INTEGER NOT NULL DEFAULT 0
);
CREATE UNIQUE INDEX task_key ON task (namespace, idem_key) WHERE idem_key IS NOT NULL;
CREATE INDEX task_live ON task (owner, due_at) WHERE ended_at IS NULL;
CREATE INDEX task_ticket ON task (owner) WHERE ticket IS NOT NULL;
CREATE INDEX task_digest ON task (digest);

-- The journals. `pos` is the order in which entries were committed, over all tasks.
CREATE TABLE entry (
    pos   INTEGER PRIMARY KEY AUTOINCREMENT,
    task  INTEGER NOT NULL,
    seq   INTEGER NOT NULL,
    at    INTEGER NOT NULL,
    kind  TEXT NOT NULL,
    -- What readers see, as JSON. NULL: the entry is the host's own.
    data  TEXT,
    -- Where the guest stood, if the entry is an act of the guest.
    call  INTEGER,
    hash  INTEGER,
    blob  BLOB
);
CREATE UNIQUE INDEX entry_seq ON entry (task, seq);

CREATE TABLE question (
    task     INTEGER NOT NULL,
    question INTEGER NOT NULL,
    body     TEXT NOT NULL,
    deadline INTEGER,
    reply    TEXT,
    PRIMARY KEY (task, question)
) WITHOUT ROWID;
