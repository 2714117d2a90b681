-- Version 1. Outcomes and notes are appended, never changed; `statistic` and `total` are sums over
-- outcomes that a trigger keeps, in integers, so that they are exact in whatever order they came.

CREATE TABLE state (
  name TEXT PRIMARY KEY,                 -- canonical: "memory-latency/uncoalesced-access"
  origin TEXT NOT NULL CHECK (origin IN ('known', 'discovered')),
  description TEXT NOT NULL              -- one line
) STRICT, WITHOUT ROWID;

CREATE TABLE technique (
  name TEXT PRIMARY KEY,                 -- canonical: "vectorized-access"
  description TEXT NOT NULL,
  source TEXT NOT NULL                   -- title and section, or who found it
) STRICT, WITHOUT ROWID;

-- What is believed before anything is measured: pseudo-observations, never counted as outcomes.
CREATE TABLE prior (
  state TEXT NOT NULL REFERENCES state,
  technique TEXT NOT NULL REFERENCES technique,
  mean_log_gain REAL NOT NULL,
  sd_log_gain REAL NOT NULL,
  weight REAL NOT NULL,                  -- how many observations it stands for
  success REAL NOT NULL,                 -- share of attempts that end in something measured
  source TEXT NOT NULL,
  PRIMARY KEY (state, technique)
) STRICT, WITHOUT ROWID;

-- What came of one technique, once. The primary key is the outcome's identity.
CREATE TABLE outcome (
  evidence TEXT NOT NULL,                -- "run:<id>#<step>" or "verdict:<key>"
  state TEXT NOT NULL REFERENCES state,
  technique TEXT NOT NULL REFERENCES technique,
  architecture TEXT NOT NULL,            -- "sm_90a"
  dtype TEXT NOT NULL,
  toolchain TEXT NOT NULL,
  previous TEXT NOT NULL,                -- the technique before; '': none
  task TEXT NOT NULL,                    -- content id
  gain_e5 INTEGER CHECK (gain_e5 BETWEEN -1000000 AND 1000000),  -- ln(old / new time), in 1e-5
  failure TEXT CHECK (failure IN
    ('compile-failed', 'incorrect', 'hang', 'crash', 'rejected', 'no-gain')),
  date TEXT NOT NULL,                    -- UTC
  PRIMARY KEY (evidence, state, technique),
  CHECK ((gain_e5 IS NULL) <> (failure IS NULL))
) STRICT, WITHOUT ROWID;

CREATE INDEX outcome_by_task ON outcome (state, task, technique);

CREATE TABLE statistic (
  state TEXT NOT NULL,
  technique TEXT NOT NULL,
  architecture TEXT NOT NULL,
  dtype TEXT NOT NULL,
  toolchain TEXT NOT NULL,
  previous TEXT NOT NULL,
  measured INTEGER NOT NULL,             -- outcomes with a gain
  sum_e5 INTEGER NOT NULL,               -- of gain_e5
  squares_e10 INTEGER NOT NULL,          -- of gain_e5 squared
  compile_failed INTEGER NOT NULL,
  incorrect INTEGER NOT NULL,
  hang INTEGER NOT NULL,
  crash INTEGER NOT NULL,
  rejected INTEGER NOT NULL,
  no_gain INTEGER NOT NULL,
  PRIMARY KEY (state, technique, architecture, dtype, toolchain, previous)
) STRICT, WITHOUT ROWID;

-- The same over all contexts: what a prompt tells of states other than the present one.
CREATE TABLE total (
  state TEXT NOT NULL,
  technique TEXT NOT NULL,
  measured INTEGER NOT NULL,
  sum_e5 INTEGER NOT NULL,
  squares_e10 INTEGER NOT NULL,
  compile_failed INTEGER NOT NULL,
  incorrect INTEGER NOT NULL,
  hang INTEGER NOT NULL,
  crash INTEGER NOT NULL,
  rejected INTEGER NOT NULL,
  no_gain INTEGER NOT NULL,
  PRIMARY KEY (state, technique)
) STRICT, WITHOUT ROWID;

CREATE TABLE note (
  id TEXT PRIMARY KEY,                   -- SHA-256 of all other columns
  state TEXT NOT NULL,                   -- '': about any
  technique TEXT NOT NULL,               -- '': about any
  text TEXT NOT NULL,
  role TEXT NOT NULL,                    -- who wrote it: "perf-gap-analysis", "person"
  evidence TEXT NOT NULL                 -- as an outcome's, or ''
) STRICT, WITHOUT ROWID;

CREATE INDEX note_by_state ON note (state, technique);

CREATE TRIGGER outcome_is_counted AFTER INSERT ON outcome
BEGIN
  INSERT INTO statistic VALUES (
    NEW.state, NEW.technique, NEW.architecture, NEW.dtype, NEW.toolchain, NEW.previous,
    NEW.gain_e5 IS NOT NULL, ifnull(NEW.gain_e5, 0), ifnull(NEW.gain_e5 * NEW.gain_e5, 0),
    NEW.failure IS 'compile-failed', NEW.failure IS 'incorrect', NEW.failure IS 'hang',
    NEW.failure IS 'crash', NEW.failure IS 'rejected', NEW.failure IS 'no-gain')
  ON CONFLICT DO UPDATE SET
    measured = measured + excluded.measured,
    sum_e5 = sum_e5 + excluded.sum_e5,
    squares_e10 = squares_e10 + excluded.squares_e10,
    compile_failed = compile_failed + excluded.compile_failed,
    incorrect = incorrect + excluded.incorrect,
    hang = hang + excluded.hang,
    crash = crash + excluded.crash,
    rejected = rejected + excluded.rejected,
    no_gain = no_gain + excluded.no_gain;
  INSERT INTO total VALUES (
    NEW.state, NEW.technique,
    NEW.gain_e5 IS NOT NULL, ifnull(NEW.gain_e5, 0), ifnull(NEW.gain_e5 * NEW.gain_e5, 0),
    NEW.failure IS 'compile-failed', NEW.failure IS 'incorrect', NEW.failure IS 'hang',
    NEW.failure IS 'crash', NEW.failure IS 'rejected', NEW.failure IS 'no-gain')
  ON CONFLICT DO UPDATE SET
    measured = measured + excluded.measured,
    sum_e5 = sum_e5 + excluded.sum_e5,
    squares_e10 = squares_e10 + excluded.squares_e10,
    compile_failed = compile_failed + excluded.compile_failed,
    incorrect = incorrect + excluded.incorrect,
    hang = hang + excluded.hang,
    crash = crash + excluded.crash,
    rejected = rejected + excluded.rejected,
    no_gain = no_gain + excluded.no_gain;
END;

CREATE TRIGGER outcome_is_a_fact BEFORE UPDATE ON outcome
BEGIN SELECT RAISE(ABORT, 'outcomes are never changed'); END;
CREATE TRIGGER outcome_stays BEFORE DELETE ON outcome
BEGIN SELECT RAISE(ABORT, 'outcomes are never deleted'); END;
CREATE TRIGGER note_is_a_fact BEFORE UPDATE ON note
BEGIN SELECT RAISE(ABORT, 'notes are never changed'); END;
CREATE TRIGGER note_stays BEFORE DELETE ON note
BEGIN SELECT RAISE(ABORT, 'notes are never deleted'); END;
