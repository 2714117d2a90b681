#!/usr/bin/env python3
"""Trains small language models, from nothing, to write fast kernels for shapes they never saw.

    python examples/train/run.py --out trained

Needs torch, trl and matplotlib, and the program (WARPSMITH, or build/release/bin/warpsmith). Each seed
is a run of its own: shapes that it holds out, a model from nothing, stage 1 (it copies recorded
kernels, good and bad alike), RL by TRL with the rewards of `warpsmith serve` on recorded spaces, and
an evaluation after each. A fifth of the recorded shapes is held out, another in each of five seeds.
A run that was stopped goes on from its last checkpoints when the same command is given again.

Written into the folder: seed-*/ (models, checkpoints, logs), steps.csv (each step of RL), samples.csv
(what each model wrote for each shape), summary.csv, MODEL_CARD.md, rewards.svg, canary.csv.
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(CHECKOUT / "python"))

from warpsmith_rewards import SIGNS, Judge, Unreachable

STOPPED = 75  # exit status of a seed that is not done yet
CURVES = ("reward", "reward_std", "frac_reward_zero_std", "passed", "unmeasured", "copied", "kl", "entropy",
          *(f"gain_{name}" for name in SIGNS))  # fmt: skip


def options_of(arguments: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    add = parser.add_argument
    add("--data", type=Path, help="rows of `train data`; else the shipped recordings and tuning rows")
    add("--out", type=Path, default=Path("trained"))
    add("--seeds", type=int, default=5)
    add("--jobs", type=int, default=os.cpu_count(), help="seeds at a time")
    add("--max-seconds", type=float, default=1800, help="then everything is kept, and stops")
    add("--finish", type=float, default=0, metavar="S",
        help="end RL S seconds before that instead, and evaluate what there is")
    add("--gpu", action="store_true", help="train on the GPU instead of one core a seed")
    add("--judge", help="address of a server; else one is started on --device")
    add("--patience", type=float, default=300, metavar="S", help="how long the server may be away")
    add("--device", type=Path, default=CHECKOUT / "data" / "recordings" / "spaces")
    add("--program", default=os.environ.get("WARPSMITH", CHECKOUT / "build/release/bin/warpsmith"))
    add("--reward", default="eq3", help="form of the reward")
    add("--alpha", type=float, default=0.0, help="Eq. 3's weight of the deviation")
    add("--beta-length", type=float, default=0.0, help="Eq. 3's weight of the code's length")
    add("--folds", type=int, default=5, help="a seed holds out one part of so many; 1: all spaces")
    add("--rows-in-rl", type=float, default=0.0,
        help="share of RL's prompts for shapes of tuning rows, whose ratios are their rewards")
    add("--exemplars", type=int, default=0, help="scored kernels in a prompt")
    add("--advantage", choices=("group-mean", "leave-one-out"), default="group-mean")
    add("--width", type=int, default=64)
    add("--layers", type=int, default=2)
    add("--stage1-steps", type=int, default=250)
    add("--stage1-batch", type=int, default=64)
    add("--stage1-rate", type=float, default=4e-3)
    add("--steps", type=int, default=60)
    add("--group", type=int, default=16, help="kernels for a prompt")
    add("--prompts", type=int, default=8, help="prompts of a step")
    add("--rate", type=float, default=5e-4)
    add("--beta", type=float, default=0.02, help="weight of the KL divergence from stage 1")
    add("--unmeasured", type=float, default=-1.0, help="reward of what the recording lacks")
    add("--samples", type=int, default=32, help="of each shape in an evaluation")
    add("--only-seed", type=int, help=argparse.SUPPRESS)  # what a seed's own process is given
    add("--recorded", action="store_true", help=argparse.SUPPRESS)  # its server replays --device
    return parser.parse_args(arguments)


@contextlib.contextmanager
def serving(options: argparse.Namespace):
    """The address of a server on the recordings, which ends with the block."""
    if options.judge:
        yield options.judge
        return
    with tempfile.TemporaryDirectory(prefix="warpsmith-train-") as folder:
        homes = {f"XDG_{name}_HOME": folder for name in ("DATA", "CACHE", "STATE", "CONFIG")}
        command = [options.program, "serve", "--device", options.device, "--quiet"]
        try:
            server = subprocess.Popen([*command, "--listen", "127.0.0.1:0"], text=True,
                                      stdout=subprocess.PIPE, env={**os.environ, **homes})  # fmt: skip
        except OSError as error:
            raise SystemExit(f"run.py: {error}: build the program, or name it with --program")
        try:
            line = server.stdout.readline()
            if "http://" not in line:
                raise SystemExit(f"run.py: `{' '.join(map(str, command))}` gave no address")
            yield line[line.index("http://") :].strip()
        finally:
            server.terminate()
            server.wait(60)


def judge_of(options: argparse.Namespace) -> Judge:
    form = {"form": options.reward, "alpha": options.alpha, "beta": options.beta_length}
    return Judge(options.judge, reward=form, patience_s=options.patience)


def shapes_of(judge: Judge) -> list[str]:
    names = [task["name"].split(":") for task in judge.tasks()]
    return sorted(name[1] for name in names if name[0] == "hgemm" and name[2:] == ["TN"])


def train_seed(seed: int, options: argparse.Namespace) -> None:
    """All of one seed, in this process. What is done already is not done again."""
    import torch

    import samples
    import stages
    from canary import Canary
    from corpus import Corpus, TableJudge, read_kernels, shipped_kernels, whole_spaces

    from warpsmith.train.kernel_text import tokenizer_of

    torch.set_num_threads(1)
    folder = options.out / f"seed-{seed}"
    folder.mkdir(parents=True, exist_ok=True)
    judge = judge_of(options)
    recorded = shapes_of(judge)
    if options.data:
        kernels = read_kernels(options.data)
        recorded = [shape for shape in recorded if shape in kernels]
    else:
        perf = CHECKOUT / "data" / "perf"
        kernels = shipped_kernels(perf, str(options.program), options.device, recorded)
    corpus = Corpus.of_seed(kernels, recorded, seed, options.exemplars, options.folds)
    if options.data and options.recorded:  # rows leave near-duplicates out: what is best is recorded
        corpus.whole = whole_spaces(str(options.program), options.device, recorded)
    table = TableJudge(judge, kernels, set(recorded), options.unmeasured)
    tokenizer = tokenizer_of(corpus.texts(kernels))
    options.callbacks = [Canary(judge, corpus.answered(), seed, folder / "canary.csv")]
    clock = time.time()
    try:
        start = stages.copy_kernels(folder, corpus, tokenizer, options, seed)
        samples.write(folder / "samples-1.csv", start, corpus, judge, options, seed, "stage 1")
        print(f"seed {seed}: stage 1 done after {time.time() - clock:.0f} s", flush=True)
        model = stages.learn_from_rewards(folder, start, corpus, tokenizer, table, options, seed)
        samples.write(folder / "samples-2.csv", model, corpus, judge, options, seed, "RL")
        print(f"seed {seed}: RL done after {time.time() - clock:.0f} s", flush=True)
    except stages.Stopped as stop:
        print(f"seed {seed}: {stop}; the same command goes on from there", flush=True)
        sys.exit(STOPPED)
    except Unreachable as trouble:
        options.callbacks[0].write()
        print(f"seed {seed}: {trouble}; the same command goes on from the last checkpoint", flush=True)
        sys.exit(STOPPED)


def train_all(options: argparse.Namespace) -> bool:
    """A process for each seed, `jobs` at a time. Whether all of them came to their end."""
    waiting, working, whole = list(range(1, options.seeds + 1)), [], True
    own = [sys.executable, "-W", "ignore", __file__, *sys.argv[1:], "--judge", options.judge,
           *(["--recorded"] if options.recorded else [])]  # fmt: skip
    while waiting or working:
        left = options.deadline - time.time()
        while waiting and len(working) < max(1, options.jobs) and left > 0:
            seed = waiting.pop(0)
            command = [*own, "--only-seed", str(seed), "--max-seconds", str(left)]
            (options.out / f"seed-{seed}").mkdir(parents=True, exist_ok=True)
            log = (options.out / f"seed-{seed}" / "log.txt").open("a")
            working.append((seed, subprocess.Popen(command, stdout=log, stderr=log)))
        if left <= 0 and waiting:
            whole, waiting = False, []
        for seed, process in [pair for pair in working if pair[1].poll() is not None]:
            working.remove((seed, process))
            whole = whole and process.returncode == 0
            if process.returncode not in (0, STOPPED):
                print(f"seed {seed} failed: {options.out}/seed-{seed}/log.txt says why", flush=True)
            else:
                state = "done" if process.returncode == 0 else "stopped"
                print(f"seed {seed}: {state}, {time.time() - options.begin:.0f} s", flush=True)
        time.sleep(0.5)
    return whole


def gather(options: argparse.Namespace, head: str) -> None:
    """steps.csv, samples.csv and canary.csv of all seeds."""
    steps, written, canary = [], [], []
    for folder in sorted(options.out.glob("seed-*"), key=lambda path: int(path.name[5:])):
        log = folder / "learning.json"
        lines = json.loads(log.read_text()) if log.exists() else []
        for number, line in enumerate((one for one in lines if "reward" in one), 1):
            row = {"seed": int(folder.name[5:]), "step": number}
            for name in CURVES:
                value = line.get(name)
                row[name] = "" if value is None else round(float(value), 4)
            steps.append(row)
        for part in sorted(folder.glob("samples-*.csv")):
            written += list(csv.DictReader(part.open()))
        if (folder / "canary.csv").exists():
            canary += list(csv.DictReader((folder / "canary.csv").open()))
    for name, rows in (("steps", steps), ("samples", written), ("canary", canary)):
        if rows:
            with (options.out / f"{name}.csv").open("w", newline="") as file:
                file.write(head)
                table = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
                table.writeheader()
                table.writerows(rows)


def head_of(options: argparse.Namespace) -> str:
    commit = subprocess.run(["git", "-C", CHECKOUT, "rev-parse", "--short", "HEAD"],
                            capture_output=True, text=True).stdout.strip()  # fmt: skip
    given = " ".join(sys.argv[1:]).replace(str(CHECKOUT) + "/", "")
    where = "one GPU" if options.gpu else "CPU"
    today = time.strftime("%Y-%m-%d", time.gmtime())
    return (f"# examples/train/run.py {given}; rewards recorded on an H200; trained on {where}, "
            f"{time.time() - options.begin:.0f} s, {options.jobs} seeds at a time; commit {commit}, {today}\n")  # fmt: skip


def main() -> int:
    options = options_of()
    options.begin = time.time()
    options.deadline = options.begin + options.max_seconds
    if options.only_seed is not None:
        train_seed(options.only_seed, options)
        return 0
    options.out.mkdir(parents=True, exist_ok=True)
    options.recorded = options.judge is None
    with serving(options) as options.judge:
        whole = train_all(options)
    head = head_of(options)
    gather(options, head)
    import results

    results.summarise(options.out, head, options)
    return 0 if whole else STOPPED


if __name__ == "__main__":
    sys.exit(main())
