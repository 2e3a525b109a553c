-- Where a namespace's readers go on from: its public entries in the order in which they were committed.

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
