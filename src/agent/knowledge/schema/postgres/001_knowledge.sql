-- The tables of schema/001_knowledge.sql, which explains them, as PostgreSQL understands them; a
-- test holds their columns to be the same.

CREATE TABLE schema_version (version BIGINT NOT NULL);
INSERT INTO schema_version VALUES (0);

CREATE TABLE state (
  name TEXT PRIMARY KEY,
  origin TEXT NOT NULL CHECK (origin IN ('known', 'discovered')),
  description TEXT NOT NULL
);

CREATE TABLE technique (
  name TEXT PRIMARY KEY,
  description TEXT NOT NULL,
  source TEXT NOT NULL
);

CREATE TABLE prior (
  state TEXT NOT NULL REFERENCES state,
  technique TEXT NOT NULL REFERENCES technique,
  mean_log_gain DOUBLE PRECISION NOT NULL,
  sd_log_gain DOUBLE PRECISION NOT NULL,
  weight DOUBLE PRECISION NOT NULL,
  success DOUBLE PRECISION NOT NULL,
  source TEXT NOT NULL,
  PRIMARY KEY (state, technique)
);

CREATE TABLE outcome (
  evidence TEXT NOT NULL,
  state TEXT NOT NULL REFERENCES state,
  technique TEXT NOT NULL REFERENCES technique,
  architecture TEXT NOT NULL,
  dtype TEXT NOT NULL,
  toolchain TEXT NOT NULL,
  previous TEXT NOT NULL,
  task TEXT NOT NULL,
  gain_e5 BIGINT CHECK (gain_e5 BETWEEN -1000000 AND 1000000),
  failure TEXT CHECK (failure IN
    ('compile-failed', 'incorrect', 'hang', 'crash', 'rejected', 'no-gain')),
  date TEXT NOT NULL,
  PRIMARY KEY (evidence, state, technique),
  CHECK ((gain_e5 IS NULL) <> (failure IS NULL))
);
CREATE INDEX outcome_by_task ON outcome (state, task, technique);

CREATE TABLE statistic (
  state TEXT NOT NULL,
  technique TEXT NOT NULL,
  architecture TEXT NOT NULL,
  dtype TEXT NOT NULL,
  toolchain TEXT NOT NULL,
  previous TEXT NOT NULL,
  measured BIGINT NOT NULL,
  sum_e5 BIGINT NOT NULL,
  squares_e10 BIGINT NOT NULL,
  compile_failed BIGINT NOT NULL,
  incorrect BIGINT NOT NULL,
  hang BIGINT NOT NULL,
  crash BIGINT NOT NULL,
  rejected BIGINT NOT NULL,
  no_gain BIGINT NOT NULL,
  PRIMARY KEY (state, technique, architecture, dtype, toolchain, previous)
);

CREATE TABLE total (
  state TEXT NOT NULL,
  technique TEXT NOT NULL,
  measured BIGINT NOT NULL,
  sum_e5 BIGINT NOT NULL,
  squares_e10 BIGINT NOT NULL,
  compile_failed BIGINT NOT NULL,
  incorrect BIGINT NOT NULL,
  hang BIGINT NOT NULL,
  crash BIGINT NOT NULL,
  rejected BIGINT NOT NULL,
  no_gain BIGINT NOT NULL,
  PRIMARY KEY (state, technique)
);

CREATE TABLE note (
  id TEXT PRIMARY KEY,
  state TEXT NOT NULL,
  technique TEXT NOT NULL,
  text TEXT NOT NULL,
  role TEXT NOT NULL,
  evidence TEXT NOT NULL
);
CREATE INDEX note_by_state ON note (state, technique);

-- Texts are ordered by their bytes, as in SQLite, whatever the database's language is.
DO $$
DECLARE c record;
BEGIN
  FOR c IN SELECT table_name, column_name FROM information_schema.columns
    WHERE table_schema = current_schema() AND data_type = 'text' LOOP
    EXECUTE format('ALTER TABLE %I ALTER COLUMN %I TYPE TEXT COLLATE "C"',
      c.table_name, c.column_name);
  END LOOP;
END $$;

-- One row is added to `statistic`, and the same over all contexts to `total`.
CREATE FUNCTION count_outcome() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  gain BIGINT := coalesce(NEW.gain_e5, 0);
  cause TEXT := coalesce(NEW.failure, '');
  was_measured BIGINT := (NEW.gain_e5 IS NOT NULL)::int;
BEGIN
  INSERT INTO statistic AS s VALUES (
    NEW.state, NEW.technique, NEW.architecture, NEW.dtype, NEW.toolchain, NEW.previous,
    was_measured, gain, gain * gain, (cause = 'compile-failed')::int, (cause = 'incorrect')::int,
    (cause = 'hang')::int, (cause = 'crash')::int, (cause = 'rejected')::int,
    (cause = 'no-gain')::int)
  ON CONFLICT (state, technique, architecture, dtype, toolchain, previous) DO UPDATE SET
    measured = s.measured + excluded.measured,
    sum_e5 = s.sum_e5 + excluded.sum_e5,
    squares_e10 = s.squares_e10 + excluded.squares_e10,
    compile_failed = s.compile_failed + excluded.compile_failed,
    incorrect = s.incorrect + excluded.incorrect,
    hang = s.hang + excluded.hang,
    crash = s.crash + excluded.crash,
    rejected = s.rejected + excluded.rejected,
    no_gain = s.no_gain + excluded.no_gain;
  INSERT INTO total AS s VALUES (
    NEW.state, NEW.technique,
    was_measured, gain, gain * gain, (cause = 'compile-failed')::int, (cause = 'incorrect')::int,
    (cause = 'hang')::int, (cause = 'crash')::int, (cause = 'rejected')::int,
    (cause = 'no-gain')::int)
  ON CONFLICT (state, technique) DO UPDATE SET
    measured = s.measured + excluded.measured,
    sum_e5 = s.sum_e5 + excluded.sum_e5,
    squares_e10 = s.squares_e10 + excluded.squares_e10,
    compile_failed = s.compile_failed + excluded.compile_failed,
    incorrect = s.incorrect + excluded.incorrect,
    hang = s.hang + excluded.hang,
    crash = s.crash + excluded.crash,
    rejected = s.rejected + excluded.rejected,
    no_gain = s.no_gain + excluded.no_gain;
  RETURN NEW;
END $$;
CREATE TRIGGER outcome_is_counted AFTER INSERT ON outcome
  FOR EACH ROW EXECUTE FUNCTION count_outcome();

CREATE FUNCTION is_a_fact() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION '%s are never changed or deleted', TG_TABLE_NAME;
END $$;
CREATE TRIGGER outcome_is_a_fact BEFORE UPDATE OR DELETE ON outcome
  FOR EACH ROW EXECUTE FUNCTION is_a_fact();
CREATE TRIGGER note_is_a_fact BEFORE UPDATE OR DELETE ON note
  FOR EACH ROW EXECUTE FUNCTION is_a_fact();
