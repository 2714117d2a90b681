-- Version 4. Every row that a report is made of carries a digest of itself, so that a bit that was
-- flipped on the disk is an error and not another number. docs/files.md.
--
-- digest_of() is SHA-256 over its arguments, a function of ours: other SQLite clients read the tables
-- as ever, but cannot use the views checked_... nor add rows. Rows of older stores are sealed as they
-- are found by this script.
--
-- A view says what a row's digest has to be, for the trigger that seals new rows and for all readers.

ALTER TABLE device ADD COLUMN row_digest TEXT NOT NULL DEFAULT '';
CREATE VIEW checked_device AS SELECT *, digest_of(uuid, info) AS expected FROM device;
UPDATE device SET row_digest = (SELECT expected FROM checked_device c WHERE c.id = device.id);
CREATE TRIGGER device_is_sealed AFTER INSERT ON device WHEN new.row_digest = ''
BEGIN UPDATE device SET row_digest = (SELECT expected FROM checked_device WHERE id = new.id)
  WHERE id = new.id; END;

ALTER TABLE task ADD COLUMN row_digest TEXT NOT NULL DEFAULT '';
CREATE VIEW checked_task AS SELECT *, digest_of(content_id, name, body) AS expected FROM task;
UPDATE task SET row_digest = (SELECT expected FROM checked_task c WHERE c.id = task.id);
CREATE TRIGGER task_is_sealed AFTER INSERT ON task WHEN new.row_digest = ''
BEGIN UPDATE task SET row_digest = (SELECT expected FROM checked_task WHERE id = new.id)
  WHERE id = new.id; END;

ALTER TABLE workload ADD COLUMN row_digest TEXT NOT NULL DEFAULT '';
CREATE VIEW checked_workload AS SELECT *, digest_of(name, body) AS expected FROM workload;
UPDATE workload SET row_digest = (SELECT expected FROM checked_workload c WHERE c.id = workload.id);
CREATE TRIGGER workload_is_sealed AFTER INSERT ON workload WHEN new.row_digest = ''
BEGIN UPDATE workload SET row_digest = (SELECT expected FROM checked_workload WHERE id = new.id)
  WHERE id = new.id; END;

ALTER TABLE protocol ADD COLUMN row_digest TEXT NOT NULL DEFAULT '';
CREATE VIEW checked_protocol AS SELECT *, digest_of(level, body) AS expected FROM protocol;
UPDATE protocol SET row_digest = (SELECT expected FROM checked_protocol c WHERE c.id = protocol.id);
CREATE TRIGGER protocol_is_sealed AFTER INSERT ON protocol WHEN new.row_digest = ''
BEGIN UPDATE protocol SET row_digest = (SELECT expected FROM checked_protocol WHERE id = new.id)
  WHERE id = new.id; END;

-- A run's digest covers the rows it refers to, and a step's its verdict's: a row id that was changed
-- into another one that is there is found too.
ALTER TABLE run ADD COLUMN row_digest TEXT NOT NULL DEFAULT '';
CREATE VIEW checked_run AS SELECT *, rowid AS begun_order, digest_of(id, command, task, workload, protocol, device,
  (SELECT row_digest FROM task t WHERE t.id = run.task),
  (SELECT row_digest FROM workload w WHERE w.id = run.workload),
  (SELECT row_digest FROM protocol p WHERE p.id = run.protocol),
  (SELECT row_digest FROM device d WHERE d.id = run.device),
  proposer, seed, batch, space, begun) AS expected FROM run;
UPDATE run SET row_digest = (SELECT expected FROM checked_run c WHERE c.id = run.id);
CREATE TRIGGER run_is_sealed AFTER INSERT ON run WHEN new.row_digest = ''
BEGIN UPDATE run SET row_digest = (SELECT expected FROM checked_run WHERE id = new.id)
  WHERE id = new.id; END;

DROP TRIGGER verdict_is_a_fact;
ALTER TABLE verdict ADD COLUMN row_digest TEXT NOT NULL DEFAULT '';
CREATE VIEW checked_verdict AS SELECT *, digest_of(key, candidate, task, workload, protocol, device,
  artifact, outcome, conclusive, gpu_seconds, body, digest, origin) AS expected FROM verdict;
UPDATE verdict SET row_digest = (SELECT expected FROM checked_verdict c WHERE c.id = verdict.id);
CREATE TRIGGER verdict_is_sealed AFTER INSERT ON verdict WHEN new.row_digest = ''
BEGIN UPDATE verdict SET row_digest = (SELECT expected FROM checked_verdict WHERE id = new.id)
  WHERE id = new.id; END;
CREATE TRIGGER verdict_is_a_fact BEFORE UPDATE ON verdict WHEN old.row_digest <> ''
BEGIN SELECT RAISE(ABORT, 'verdicts are never changed'); END;

DROP TRIGGER measurement_is_a_fact;
ALTER TABLE measurement ADD COLUMN row_digest TEXT NOT NULL DEFAULT '';
CREATE VIEW checked_measurement AS SELECT *, digest_of(verdict, workload_index, mode_index,
  contender_index, mode, contender, median_us, lo_us, hi_us, samples) AS expected FROM measurement;
UPDATE measurement SET row_digest = (SELECT expected FROM checked_measurement c
  WHERE c.verdict = measurement.verdict AND c.workload_index = measurement.workload_index
  AND c.mode_index = measurement.mode_index AND c.contender_index = measurement.contender_index);
CREATE TRIGGER measurement_is_sealed AFTER INSERT ON measurement WHEN new.row_digest = ''
BEGIN UPDATE measurement SET row_digest = (SELECT expected FROM checked_measurement c
    WHERE c.verdict = new.verdict AND c.workload_index = new.workload_index
    AND c.mode_index = new.mode_index AND c.contender_index = new.contender_index)
  WHERE verdict = new.verdict AND workload_index = new.workload_index
  AND mode_index = new.mode_index AND contender_index = new.contender_index; END;
CREATE TRIGGER measurement_is_a_fact BEFORE UPDATE ON measurement WHEN old.row_digest <> ''
BEGIN SELECT RAISE(ABORT, 'measurements are never changed'); END;

DROP TRIGGER step_is_a_fact;
ALTER TABLE step ADD COLUMN row_digest TEXT NOT NULL DEFAULT '';
CREATE VIEW checked_step AS SELECT *, digest_of(run, step_index, job, candidate, verdict,
  (SELECT row_digest FROM verdict v WHERE v.id = step.verdict), provenance, terms, reward,
  evaluations, gpu_seconds, wall_seconds, tokens, money, committed) AS expected FROM step;
UPDATE step SET row_digest = (SELECT expected FROM checked_step c
  WHERE c.run = step.run AND c.step_index = step.step_index);
CREATE TRIGGER step_is_sealed AFTER INSERT ON step WHEN new.row_digest = ''
BEGIN UPDATE step SET row_digest = (SELECT expected FROM checked_step c
    WHERE c.run = new.run AND c.step_index = new.step_index)
  WHERE run = new.run AND step_index = new.step_index; END;
CREATE TRIGGER step_is_a_fact BEFORE UPDATE ON step WHEN old.row_digest <> ''
BEGIN SELECT RAISE(ABORT, 'steps are never changed'); END;

DROP TRIGGER memo_is_a_fact;
ALTER TABLE memo ADD COLUMN row_digest TEXT NOT NULL DEFAULT '';
CREATE VIEW checked_memo AS SELECT *, digest_of(run, key, text) AS expected FROM memo;
UPDATE memo SET row_digest = (SELECT expected FROM checked_memo c
  WHERE c.run = memo.run AND c.key = memo.key);
CREATE TRIGGER memo_is_sealed AFTER INSERT ON memo WHEN new.row_digest = ''
BEGIN UPDATE memo SET row_digest = (SELECT expected FROM checked_memo c
    WHERE c.run = new.run AND c.key = new.key)
  WHERE run = new.run AND key = new.key; END;
CREATE TRIGGER memo_is_a_fact BEFORE UPDATE ON memo WHEN old.row_digest <> ''
BEGIN SELECT RAISE(ABORT, 'memos are never changed'); END;
