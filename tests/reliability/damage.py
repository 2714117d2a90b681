"""Classes of faults.py that damage files or lose output: each function prepares, and returns a try."""

from __future__ import annotations

import contextlib
import json
import random
import shutil
import sqlite3
import struct
import subprocess
from pathlib import Path

from program import (
    CHECKOUT, LIMIT_S, SMALL, TUNE, Failure, Program, Skip, bundle_with_results, make_bundle, tuning,
    without_times,
)  # fmt: skip

LINES = 100  # that one server is told
FILES = 500  # that one process reads


def full_disk(program: Program):
    work = tuning(program)
    size = (program.folder / "whole.db").stat().st_size

    # A write beyond it fails: else a signal would end the program.
    script = 'trap "" XFSZ; exec prlimit --fsize="$0" "$@"'

    def attempt(rng):
        work.fresh()
        before = ["sh", "-c", script, str(int(rng.uniform(0, 1.1) * size))]
        status, _, err = program.run(*work.line("--run", work.store), before=before)
        if status not in (0, 74):
            raise Failure(f"a full disk ended with {status}: {err[:300]}")
        work.finish()

    return attempt


def full_tmpfs(program: Program):
    apart = ["unshare", "--user", "--map-root-user", "--mount"]
    if subprocess.run([*apart, "mount", "-t", "tmpfs", "x", "/mnt"], check=False).returncode != 0:
        raise Skip("needs root or user namespaces, to mount a small file system")
    work = tuning(program)
    size = sum(path.stat().st_size for path in program.folder.glob("whole.db*"))
    small = program.folder / "small"
    small.mkdir()
    # The file system is gone with its namespace, so what the program left is copied out of it.
    script = 'mount -t tmpfs -o size="$0" tmpfs small; "$@"; status=$?; cp small/* . ; exit "$status"'

    def attempt(rng):
        work.fresh()
        most = int(rng.uniform(0.01, 3) * size)
        before = [*apart, "sh", "-c", script, str(most)]
        status, _, err = program.run(*work.line("--run", "small/" + work.store), before=before)
        if status not in (0, 74):
            raise Failure(f"a full disk ended with {status}: {err[:300]}")
        work.finish()

    return attempt


def full_stdout(program: Program):
    program.must("hgemm", "tune", *TUNE, "--store", "s.db", "--run", "run")
    program.must("hgemm", "catalogue", "make", "--store", "s.db", "--out", "c.csv")
    task = CHECKOUT / "tasks/saxpy-f32"
    commands = [
        ["--help"], ["--version"], ["doctor"], ["doctor", "--json"], ["exit-codes"],
        ["completion", "bash"], ["kb", "show"], ["kb", "export", "-"],
        ["hgemm", "catalogue", "check", "c.csv"], ["hgemm", "catalogue", "merge", "c.csv", "--out", "-"],
        ["report", "--store", "s.db"], ["report", "run", "--store", "s.db", "--json"],
        ["store", "check", "s.db"], ["task", "check", task], ["task", "check", task, "--json"],
        ["task", "check", "nowhere", "--json"],
    ]  # fmt: skip

    def attempt(rng):
        command = rng.choice(commands)
        with open("/dev/full", "wb") as full:
            status, _, _ = program.run(*command, stdout=full)
        if status != 74:
            raise Failure(f"{command} ended with {status}, its output lost")

    return attempt


def flip(program: Program, bit_of, statuses=None):
    """`bit_of(whole, rng)`: which bit of the store to flip; `statuses`: what may refuse it."""
    work = tuning(program)
    whole = (program.folder / "whole.db").read_bytes()

    def attempt(rng):
        work.fresh()
        bit = bit_of(whole, rng)
        flipped = bytearray(whole)
        flipped[bit // 8] ^= 1 << bit % 8
        (program.folder / work.store).write_bytes(flipped)
        status, out, err = program.run("report", "run", "--store", work.store, "--json")
        if status == 0 and without_times(out) != work.expected:
            raise Failure(f"bit {bit} changed the report, and nothing was said")
        if statuses and status not in statuses:
            raise Failure(f"bit {bit} of a fact ended with {status}: {err[:300]}")

    return attempt


def flip_store(program: Program):
    return flip(program, lambda whole, rng: rng.randrange(len(whole) * 8))


def flip_facts(program: Program):
    facts: list[bytes] = []

    def collect():
        tables = ["device", "task", "workload", "protocol", "source", "candidate", "candidate_source",
                  "verdict", "measurement", "run", "step"]  # fmt: skip
        with contextlib.closing(sqlite3.connect(program.folder / "whole.db")) as database:
            for table in tables:
                for row in database.execute(f"SELECT * FROM {table}"):
                    facts.extend(as_stored(value) for value in row if is_findable(value))

    def bit_of(whole, rng):
        if not facts:
            collect()
        while True:
            value = rng.choice(facts)
            piece = rng.randrange(max(1, len(value) - 32))  # a long value lies on several pages
            places = list(find_all(whole, value[piece : piece + 32]))
            if places:
                at = rng.choice(places)
                return at * 8 + rng.randrange(8 * min(32, len(value) - piece))

    return flip(program, bit_of, (0, 65))


def is_findable(value) -> bool:
    return isinstance(value, float) or (isinstance(value, (str, bytes)) and len(value) >= 6)


def as_stored(value) -> bytes:
    if isinstance(value, float):
        return struct.pack(">d", value)
    return value.encode() if isinstance(value, str) else value


def find_all(whole: bytes, piece: bytes):
    at = whole.find(piece)
    while at >= 0:
        yield at
        at = whole.find(piece, at + 1)


def mutated(text: bytes, rng: random.Random) -> bytes:
    """One to three changes: a bit, a byte, a cut, a piece twice, a line gone, a number that grew."""
    changed = bytearray(text)
    for _ in range(rng.randint(1, 3)):
        at = rng.randrange(len(changed)) if changed else 0
        end = min(len(changed), at + rng.randint(1, 60))
        kind = rng.randrange(6)
        if kind == 0 and changed:
            changed[at] ^= 1 << rng.randrange(8)
        elif kind == 1 and changed:
            changed[at] = rng.randrange(256)
        elif kind == 2:
            del changed[at:]
        elif kind == 3:
            changed[at:at] = changed[at:end]
        elif kind == 4:
            lines = bytes(changed).split(b"\n")
            del lines[rng.randrange(len(lines))]
            changed = bytearray(b"\n".join(lines))
        else:
            changed[at:end] = rng.choice([b"-1", b"99999999999999999999", b"nan", b"\0", b"[[[["])
    return bytes(changed)


def mutate(program: Program, path: Path, command: list, has_digest: bool):
    """`command` reads `path`, which is changed."""
    text = path.read_bytes()
    expected = program.must(*command)

    def attempt(rng):
        changed = mutated(text, rng)
        path.write_bytes(changed)
        status, out, _ = program.run(*command)
        if has_digest and status in (0, 1) and out != expected:
            (program.folder.parent / "believed").write_bytes(changed)
            raise Failure(f"another answer of a changed file, status {status}: {out[:200]}")

    return attempt


def shipped(program: Program, name: str, to: str) -> Path:
    return Path(shutil.copy(CHECKOUT / name, program.folder / to))


def mutate_comparison(program: Program):
    """A table of measurements, which may end after any shape: so does one that is not finished."""
    shipped_table, path = CHECKOUT / "data/hgemm/nn_h200.csv.gz", program.folder / "m.csv"
    program.must("hgemm", "bench", "--from", shipped_table, "--csv", path, "--quiet")
    lines = path.read_text().splitlines(keepends=True)
    ends = [i for i, line in enumerate(lines) if " lines above, sha256 " in line]
    text = "".join(lines[: ends[3] + 1]).encode()  # three shapes
    path.write_bytes(text)
    command = ["hgemm", "bench", "--from", path, "--json"]
    expected = program.must(*command)

    def attempt(rng):
        changed = mutated(text, rng)
        path.write_bytes(changed)
        status, out, err = program.run(*command)
        is_unfinished = text.startswith(changed) or "its end is torn" in err
        if status == 0 and out != expected and not is_unfinished:
            (program.folder.parent / "believed").write_bytes(changed)
            raise Failure(f"another answer of a changed table: {out[:200]}")

    return attempt


def mutate_store(program: Program):
    work = tuning(program)
    whole = (program.folder / "whole.db").read_bytes()

    def attempt(rng):
        work.fresh()
        (program.folder / work.store).write_bytes(mutated(whole, rng))
        status, out, _ = program.run("report", "run", "--store", work.store, "--json")
        if status == 0 and without_times(out) != work.expected:
            raise Failure("a changed store changed the report, and nothing was said")

    return attempt


def mutate_results(program: Program):
    """What a bundle brings back; a line that is missing is a job that was not judged yet."""
    folder = bundle_with_results(program, 2)
    path, store = folder / "results.jsonl", program.folder / "m.db"
    whole = path.read_bytes()
    take = ["bundle", "take", folder, "--store", store, "--quiet"]

    def verdicts() -> set:
        with contextlib.closing(sqlite3.connect(store)) as database:
            return set(database.execute("SELECT key, digest, origin FROM verdict"))

    program.must(*take)
    expected = verdicts()

    def attempt(rng):
        program.remove("m.db*")
        path.write_bytes(mutated(whole, rng))
        status, _, err = program.run(*take)
        if status not in (0, 65, 72) or (status == 0 and not verdicts() <= expected):
            (program.folder.parent / "believed").write_bytes(path.read_bytes())
            raise Failure(f"changed results ended with {status}: {err[:300]}")

    return attempt


def mutate_catalogue(program: Program):
    path = program.folder / "m.csv"
    program.must("hgemm", "catalogue", "merge", CHECKOUT / "tests/library/two_rows.csv", "--out", path)
    return mutate(program, path, ["hgemm", "catalogue", "merge", path, "--out", "-", "--quiet"], True)


def mutate_knowledge(program: Program):
    path = shipped(program, "data/knowledge/seed.jsonl", "m.jsonl")
    return mutate(program, path, ["kb", "diff", CHECKOUT / "data/knowledge/seed.jsonl", path], True)


def mutate_recording(program: Program):
    path = program.folder / SMALL
    show = ["hgemm", "show", "64x64x64", "--device", path, "--top", 40, "--json"]
    return mutate(program, path, show, True)


def mutate_task(program: Program):
    folder = shutil.copytree(CHECKOUT / "tasks/saxpy-f32", program.folder / "task")
    return mutate(program, folder / "task.toml", ["task", "check", folder], False)


def mutate_bundle(program: Program):
    program.must(*make_bundle("bundle", 1))
    folder = program.folder / "bundle"
    paths = [folder / name for name in ("manifest.json", "jobs.jsonl.zst", "judge.cubin", "run")]
    paths += folder.glob("images/*")
    whole = {path: path.read_bytes() for path in paths}

    def attempt(rng):
        path = rng.choice(paths)
        changed = mutated(whole[path], rng)
        if changed == whole[path]:
            return 1  # a byte became what it was
        path.write_bytes(changed)
        status, _, err = program.run("bundle", "take", folder, "--store", "m.db")
        path.write_bytes(whole[path])
        # 72: taken for whole, and without results. The manifest's date and command have no digest.
        # 66: the manifest names a file that is not there. No other file can lead to these two.
        if status not in (65, 76) and not (status in (66, 72) and path.name == "manifest.json"):
            raise Failure(f"a changed {path.name} ended with {status}: {err[:300]}")

    return attempt


def mutate_mcp(program: Program):
    seeds = CHECKOUT / "tests/fuzz/seeds/mcp"
    lines = [line for path in seeds.iterdir() for line in path.read_bytes().splitlines() if line]
    tune = ["hgemm", "tune", *TUNE, "--store", "s.db", "--run", "run"]
    program.must(*tune)

    def attempt(rng):
        last = {"jsonrpc": "2.0", "id": "last", "method": "ping"}
        told = [mutated(rng.choice(lines), rng).replace(b"\n", b" ") for _ in range(LINES)]
        process = program.begin(
            "mcp", "hgemm:128x128x128:TN", "--device", SMALL, "--store", "s.db", "--quiet",
            stdin=subprocess.PIPE, stdout=subprocess.PIPE)  # fmt: skip
        conversation = b"\n".join([*told, json.dumps(last).encode(), b""])
        try:
            out, err = process.communicate(conversation, timeout=LIMIT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            raise Failure("the server hangs") from None
        answers = [json.loads(line) for line in out.splitlines()]
        if process.returncode != 0 or not any(answer.get("id") == "last" for answer in answers):
            raise Failure(f"the server ended with {process.returncode}: {err[:300]}")
        return LINES

    return attempt


def read(reader: str):
    """Files made of a fuzzer's seeds, read by its entry function, many in a process."""

    def prepare(program: Program):
        if program.tools["fuzzers"] is None:
            raise Skip("needs --fuzzers, a tree that tests/fuzz/build made")
        fuzzer = program.tools["fuzzers"].resolve() / "bin" / f"{reader}_fuzz"
        seeds = [path.read_bytes() for path in (CHECKOUT / "tests/fuzz/seeds" / reader).iterdir()]
        environment = {**program.environment, "ASAN_OPTIONS": "detect_leaks=1"}

        def attempt(rng):
            paths = [program.folder / f"{i}" for i in range(FILES)]
            for path in paths:
                path.write_bytes(mutated(rng.choice(seeds), rng))
            done = subprocess.run(
                [fuzzer, "-timeout=5", "-rss_limit_mb=1024", "-malloc_limit_mb=512", *paths],
                env=environment, capture_output=True, cwd=program.folder, check=False)  # fmt: skip
            if done.returncode != 0:
                keep = program.folder.parent / "failed"
                shutil.copytree(program.folder, keep, dirs_exist_ok=True)
                text = done.stderr.decode(errors="replace")
                raise Failure(f"{fuzzer.name} ended with {done.returncode}: {text[-1500:]}")
            return FILES

        return attempt

    return prepare


READERS = sorted(path.name for path in (CHECKOUT / "tests/fuzz/seeds").iterdir() if path.is_dir())
