-- Version 6. Judged samples of trainers that named them (`warpsmith serve`, docs/serve.md): which
-- group and prompt each belongs to, how likely its model thought it, and what came of it. Later
-- prompts are drawn from what passed. Appended, never changed.

CREATE TABLE sample (
  id INTEGER PRIMARY KEY,                -- the order in which they were answered
  came TEXT NOT NULL,                    -- UTC
  client_run TEXT NOT NULL,              -- what the client calls its run
  task TEXT NOT NULL,                    -- the names that the server knows them by
  workload TEXT NOT NULL,
  level TEXT NOT NULL,                   -- screened, certified
  group_name TEXT NOT NULL,              -- samples of one prompt share it; empty: none was given
  sample_id TEXT NOT NULL,               -- the client's; empty: none was given
  prompt_sha256 TEXT NOT NULL,           -- the same
  logprob_sum REAL,                      -- of the sampled tokens; NULL: not given
  key TEXT NOT NULL,                     -- as verdict.key; empty: no candidate was read
  outcome TEXT NOT NULL,
  ratio REAL,                            -- to the primary baseline, with its interval
  lo REAL,
  hi REAL,
  reward REAL,                           -- that was answered; NULL: it could not be measured
  candidate TEXT REFERENCES candidate    -- of what passed, once a key at least
) STRICT;
CREATE INDEX sample_of_task ON sample (task, workload, id);
CREATE UNIQUE INDEX sample_once ON sample (client_run, group_name, sample_id) WHERE sample_id <> '';
CREATE TRIGGER sample_is_a_fact BEFORE UPDATE ON sample
BEGIN SELECT RAISE(ABORT, 'samples are never changed'); END;
