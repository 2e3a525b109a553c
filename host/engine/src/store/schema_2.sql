-- A child: the task that started it, the root of the tree, its handle within the parent, how deep it stands.
ALTER TABLE task ADD COLUMN parent INTEGER;
ALTER TABLE task ADD COLUMN root INTEGER;
ALTER TABLE task ADD COLUMN child INTEGER;
ALTER TABLE task ADD COLUMN depth INTEGER NOT NULL DEFAULT 0;
CREATE UNIQUE INDEX task_child ON task (parent, child) WHERE parent IS NOT NULL;
CREATE INDEX task_root ON task (root) WHERE root IS NOT NULL;

-- What the caller granted for this task alone, as JSON.
ALTER TABLE task ADD COLUMN grants TEXT;

-- The retry policy as JSON; NULL: the host's default.
ALTER TABLE task ADD COLUMN retry TEXT;

-- Fuel that replays have burned: an account of its own beside `fuel`. And what the next one would burn: fuel of the
-- current segment up to where its instance was dropped, if it is worth counting.
ALTER TABLE task ADD COLUMN replay_fuel INTEGER NOT NULL DEFAULT 0;
ALTER TABLE task ADD COLUMN standing INTEGER NOT NULL DEFAULT 0;

-- Removed, and not yet gone: seen by nobody, and deleted bit by bit. First its `cancel-task` has to return, if it is owed.
ALTER TABLE task ADD COLUMN removed INTEGER NOT NULL DEFAULT 0;
CREATE INDEX task_removed ON task (n) WHERE removed = 1;

-- How often `cancel-task` was called for an ended task and has not returned; `due_at` is when it is called next.
ALTER TABLE task ADD COLUMN cancel_tries INTEGER NOT NULL DEFAULT 0;
CREATE INDEX task_owed ON task (owner, due_at) WHERE ended_at IS NOT NULL AND ticket IS NOT NULL;

-- What retention looks through.
CREATE INDEX task_ended ON task (ended_at) WHERE ended_at IS NOT NULL;

-- The heartbeat: a number that grows while the process is not frozen.
ALTER TABLE owner ADD COLUMN beats INTEGER NOT NULL DEFAULT 0;

-- Bytes of the journal's entries, but for the end: what its limit looks at.
ALTER TABLE task ADD COLUMN journal_bytes INTEGER NOT NULL DEFAULT 0;
UPDATE task SET journal_bytes = (
    SELECT coalesce(sum(coalesce(length(CAST(data AS BLOB)), 0) + coalesce(length(blob), 0)), 0)
    FROM entry WHERE entry.task = task.n) WHERE ended_at IS NULL;

-- Its owner died while it ran or was about to: the next run says first that it runs, so that `deaths` counts right.
ALTER TABLE task ADD COLUMN suspect INTEGER NOT NULL DEFAULT 0;
