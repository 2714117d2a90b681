-- Version 1. Facts are appended, never changed: only `job` is a state, and it ends in `done`.
-- docs/files.md explains every table. JSON columns hold what src/core/serialize.h writes.

CREATE TABLE device (
  id INTEGER PRIMARY KEY,
  uuid TEXT NOT NULL,
  info TEXT NOT NULL UNIQUE              -- JSON
) STRICT;

CREATE TABLE toolchain (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE              -- "nvrtc 13.0"
) STRICT;

CREATE TABLE task (
  id INTEGER PRIMARY KEY,
  content_id TEXT NOT NULL,              -- what a verdict on it means; the name is not part of it
  name TEXT NOT NULL,
  body TEXT NOT NULL UNIQUE              -- JSON
) STRICT;

CREATE TABLE workload (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL,
  body TEXT NOT NULL UNIQUE              -- JSON
) STRICT;

CREATE TABLE protocol (
  id INTEGER PRIMARY KEY,
  level TEXT NOT NULL,                   -- screened, certified
  body TEXT NOT NULL UNIQUE              -- JSON
) STRICT;

CREATE TABLE source (
  sha256 TEXT PRIMARY KEY,               -- of the text
  text BLOB NOT NULL                     -- zstd
) STRICT, WITHOUT ROWID;

CREATE TABLE candidate (
  id TEXT PRIMARY KEY,                   -- content id: sources, form, entry, toolchain, flags, plan
  code_bytes INTEGER NOT NULL,
  body TEXT NOT NULL                     -- JSON; each source's text is its sha256, see source
) STRICT, WITHOUT ROWID;

CREATE TABLE candidate_source (
  candidate TEXT NOT NULL REFERENCES candidate,
  path TEXT NOT NULL,
  source TEXT NOT NULL REFERENCES source,
  PRIMARY KEY (candidate, path)
) STRICT, WITHOUT ROWID;

CREATE TABLE artifact (
  id INTEGER PRIMARY KEY,
  candidate TEXT NOT NULL REFERENCES candidate,
  toolchain INTEGER NOT NULL REFERENCES toolchain,
  architecture TEXT NOT NULL,            -- "sm_90a"
  sha256 TEXT NOT NULL,                  -- of the image
  compile_ms REAL NOT NULL,
  UNIQUE (candidate, toolchain, architecture, sha256)
) STRICT;

CREATE TABLE verdict (
  id INTEGER PRIMARY KEY,
  key TEXT NOT NULL,                     -- candidate, task, workload and protocol, hashed
  candidate TEXT NOT NULL REFERENCES candidate,
  task INTEGER NOT NULL REFERENCES task,
  workload INTEGER NOT NULL REFERENCES workload,
  protocol INTEGER NOT NULL REFERENCES protocol,
  device INTEGER NOT NULL REFERENCES device,
  artifact INTEGER REFERENCES artifact,  -- NULL: there was none
  outcome TEXT NOT NULL,                 -- passed, incorrect, ...
  conclusive INTEGER NOT NULL,           -- 0: says nothing about the candidate, may be judged again
  gpu_seconds REAL NOT NULL,
  body TEXT NOT NULL,                    -- JSON, without the contenders' times: see measurement
  digest TEXT NOT NULL,                  -- of body and measurements: the same verdict is stored once
  UNIQUE (key, digest)
) STRICT;

-- A contender's time in one mode. Index 0 is the candidate, the others are the baselines.
CREATE TABLE measurement (
  verdict INTEGER NOT NULL REFERENCES verdict,
  workload_index INTEGER NOT NULL,
  mode_index INTEGER NOT NULL,
  contender_index INTEGER NOT NULL,
  mode TEXT NOT NULL,                    -- device, device-cold, offline, server, wall
  contender TEXT NOT NULL,
  median_us REAL, lo_us REAL, hi_us REAL,  -- NULL: not a number
  samples BLOB NOT NULL,                 -- zstd of packed columns, docs/files.md
  PRIMARY KEY (verdict, workload_index, mode_index, contender_index)
) STRICT, WITHOUT ROWID;

CREATE TABLE run (
  id TEXT PRIMARY KEY,
  command TEXT NOT NULL,
  task INTEGER NOT NULL REFERENCES task,
  workload INTEGER NOT NULL REFERENCES workload,
  protocol INTEGER NOT NULL REFERENCES protocol,
  device INTEGER NOT NULL REFERENCES device,
  proposer TEXT NOT NULL,
  seed TEXT NOT NULL,                    -- decimal, unsigned 64 bits
  batch INTEGER NOT NULL,
  space TEXT NOT NULL,
  begun TEXT NOT NULL                    -- UTC
) STRICT;

-- `attempt` is the fencing token: whoever takes a job over raises it, and a result that carries an
-- older one is refused.
CREATE TABLE job (
  id INTEGER PRIMARY KEY,
  run TEXT NOT NULL REFERENCES run,
  step_index INTEGER NOT NULL,
  key TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('leased', 'done')),
  attempt INTEGER NOT NULL,
  worker TEXT NOT NULL,
  lease_until INTEGER NOT NULL,          -- Unix seconds
  UNIQUE (run, step_index)
) STRICT;

CREATE TABLE step (
  run TEXT NOT NULL REFERENCES run,
  step_index INTEGER NOT NULL,
  job INTEGER NOT NULL UNIQUE REFERENCES job,
  candidate TEXT NOT NULL REFERENCES candidate,
  verdict INTEGER NOT NULL REFERENCES verdict,
  provenance TEXT NOT NULL,              -- JSON
  terms TEXT NOT NULL,                   -- JSON: raw terms of the reward
  reward REAL NOT NULL,
  evaluations INTEGER NOT NULL,
  gpu_seconds REAL NOT NULL,
  wall_seconds REAL NOT NULL,
  tokens INTEGER NOT NULL,
  money REAL NOT NULL,
  committed TEXT NOT NULL,               -- UTC
  PRIMARY KEY (run, step_index)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER candidate_is_a_fact BEFORE UPDATE ON candidate
BEGIN SELECT RAISE(ABORT, 'candidates are never changed'); END;
CREATE TRIGGER verdict_is_a_fact BEFORE UPDATE ON verdict
BEGIN SELECT RAISE(ABORT, 'verdicts are never changed'); END;
CREATE TRIGGER measurement_is_a_fact BEFORE UPDATE ON measurement
BEGIN SELECT RAISE(ABORT, 'measurements are never changed'); END;
CREATE TRIGGER step_is_a_fact BEFORE UPDATE ON step
BEGIN SELECT RAISE(ABORT, 'steps are never changed'); END;
