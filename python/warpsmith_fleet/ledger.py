"""What was accepted and what was answered, in a file: the first answer of a key is the answer."""

from __future__ import annotations

import json
import sqlite3


class Ledger:
    """Belongs to one thread. A SIGKILL loses nothing that `accept` or `settle` returned from."""

    def __init__(self, path: str):
        self._base = sqlite3.connect(path, isolation_level=None)
        self._base.execute("PRAGMA journal_mode = WAL")
        self._base.execute("PRAGMA synchronous = NORMAL")
        self._base.execute("CREATE TABLE IF NOT EXISTS work"
                           " (key TEXT PRIMARY KEY, request TEXT, answer TEXT) STRICT")  # fmt: skip

    def accept(self, requests: dict[str, dict]) -> None:
        rows = [(key, json.dumps(request)) for key, request in requests.items()]
        with self._base:
            self._base.execute("BEGIN IMMEDIATE")
            self._base.executemany("INSERT OR IGNORE INTO work VALUES (?, ?, NULL)", rows)

    def settle(self, key: str, answer: dict) -> dict:
        """The answer that holds from now on, which is another one where one was there already."""
        self._base.execute(
            "INSERT INTO work VALUES (?, NULL, ?) ON CONFLICT (key)"
            " DO UPDATE SET answer = excluded.answer WHERE answer IS NULL",
            (key, json.dumps(answer)),
        )
        return self.find(key)

    def find(self, key: str) -> dict | None:
        row = self._base.execute("SELECT answer FROM work WHERE key = ?", (key,)).fetchone()
        return json.loads(row[0]) if row and row[0] else None

    def unfinished(self) -> list[tuple[str, dict]]:
        rows = self._base.execute(
            "SELECT key, request FROM work WHERE answer IS NULL ORDER BY rowid"
        )
        return [(key, json.loads(request)) for key, request in rows]
