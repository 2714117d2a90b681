-- Version 3. What a run was told from outside and must be told again when it is resumed: a model's
-- replies, profiles, the knowledge base as it was at its start. docs/files.md.

CREATE TABLE memo (
  run TEXT NOT NULL REFERENCES run,
  key TEXT NOT NULL,                     -- "chat:<request id>", "profile:<candidate id>", ...
  text BLOB NOT NULL,                    -- zstd
  PRIMARY KEY (run, key)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER memo_is_a_fact BEFORE UPDATE ON memo
BEGIN SELECT RAISE(ABORT, 'memos are never changed'); END;
