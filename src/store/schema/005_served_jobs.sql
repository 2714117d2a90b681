-- Version 5. Jobs that a server has taken on (`warpsmith serve`): what it acknowledged outlives it.
-- docs/files.md. Like `job` a state, which ends in `done`.

CREATE TABLE served_job (
  id INTEGER PRIMARY KEY,                -- the order in which they came
  key TEXT NOT NULL,                     -- as verdict.key
  device TEXT NOT NULL,                  -- uuid: each device has an answer of its own
  client_run TEXT NOT NULL,              -- what the client calls its run; jobs take turns by it
  candidate TEXT NOT NULL REFERENCES candidate,
  task INTEGER NOT NULL REFERENCES task,
  workload INTEGER NOT NULL REFERENCES workload,
  protocol INTEGER NOT NULL REFERENCES protocol,
  state TEXT NOT NULL CHECK (state IN ('queued', 'running', 'done')),
  attempt INTEGER NOT NULL,              -- how often work on it began: the fencing token
  worker TEXT NOT NULL,                  -- the server that has it
  verdict INTEGER REFERENCES verdict,    -- of the attempt that was committed first
  UNIQUE (key, device)
) STRICT;

-- What came of an attempt after another one was committed: kept to be studied, never an answer.
CREATE TABLE late_verdict (
  id INTEGER PRIMARY KEY,
  key TEXT NOT NULL,
  device TEXT NOT NULL,
  attempt INTEGER NOT NULL,
  body TEXT NOT NULL,                    -- JSON of the whole verdict
  came TEXT NOT NULL                     -- UTC
) STRICT;
