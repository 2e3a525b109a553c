-- Where a namespace's readers go on from: its public entries in the order in which they were committed.

-- What of HTTP a task has used: requests, and bytes of their bodies and of the responses'.
ALTER TABLE task ADD COLUMN http_exchanges INTEGER NOT NULL DEFAULT 0;
ALTER TABLE task ADD COLUMN http_bytes INTEGER NOT NULL DEFAULT 0;
