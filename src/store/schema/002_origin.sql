-- Version 2. Verdicts may come from elsewhere (a bundle that was run on another machine); reports ask
-- for all verdicts on one candidate.

ALTER TABLE verdict ADD COLUMN origin TEXT NOT NULL DEFAULT 'run'
  CHECK (origin IN ('run', 'import'));

CREATE INDEX verdict_by_candidate ON verdict (candidate);
