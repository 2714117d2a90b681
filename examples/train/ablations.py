"""The same runs with one thing changed, each with as many rewards: what it is worth on held-out shapes.

    python examples/train/ablations.py --out ablated [run.py's options]

Each variant is a run of run.py; where it does not concern stage 1, it begins from the first run's
models. A variant's gain is paired by seed: the same held-out shapes, the same start where it is shared.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
from pathlib import Path

from results import by_seed, rows_of, write_csv

from warpsmith.train.evaluate import interval

FIGURES = ("passed", "share_of_best", "geomean", "fast_1")
USUAL = "as it is"
VARIANTS = {  # name -> options, and whether stage 1 is the usual one
    USUAL: ((), True),
    "leave-one-out baseline": (("--advantage", "leave-one-out"), True),
    "no stage 1": (("--stage1-steps", "0"), False),
    "contrastive: two exemplars": (("--exemplars", "2"), False),
    "Eq. 3 without interval and clip": (("--reward", "raw"), True),
    "Eq. 3 with alpha 0.1": (("--alpha", "0.1"), True),
    "Eq. 3 with beta 1e-6": (("--beta-length", "1e-6"), True),
}


def folder_of(out: Path, name: str) -> Path:
    return out / "".join(letter if letter.isalnum() else "-" for letter in name.lower())


def run(out: Path, name: str, given: list[str]) -> None:
    options, shares_start = VARIANTS[name]
    folder, first = folder_of(out, name), folder_of(out, USUAL)
    if shares_start and folder != first:
        for seed in first.glob("seed-*"):
            mine = folder / seed.name
            if not mine.exists():
                shutil.copytree(seed / "stage1", mine / "stage1")
                shutil.copy(seed / "samples-1.csv", mine)
    command = [sys.executable, "-W", "ignore", Path(__file__).with_name("run.py"), "--out", folder]
    if subprocess.run([*command, *given, *options]).returncode != 0:
        raise SystemExit(f"ablations.py: {name} did not come to its end; the same command goes on")


def rows_about(out: Path) -> list[dict]:
    rows = []
    tables = {name: rows_of(folder_of(out, name) / "samples.csv") for name in VARIANTS
              if (folder_of(out, name) / "samples.csv").exists()}  # fmt: skip
    for split in ("held-out", "trained"):
        for figure in FIGURES:
            after = {name: by_seed([row for row in table if (row["shapes"], row["after"]) ==
                                    (split, "RL")], figure) for name, table in tables.items()}  # fmt: skip
            for name, of in after.items():
                mean, low, high = interval(list(of.values()))
                row = {"variant": name, "shapes": split, "figure": figure, "seeds": len(of),
                       "after_rl": mean, "low": low, "high": high}  # fmt: skip
                pairs = [of[seed] - after[USUAL][seed] for seed in of]
                row |= dict(zip(("against_usual", "against_low", "against_high"), interval(pairs)))
                rows.append({key: round(value, 3) if isinstance(value, float) else value
                             for key, value in row.items()})  # fmt: skip
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--out", type=Path, default=Path("ablated"))
    options, given = parser.parse_known_args()
    for name in VARIANTS:
        run(options.out, name, given)
        usual = folder_of(options.out, USUAL)
        head = (usual / "samples.csv").open().readline().replace("run.py", "ablations.py")
        write_csv(options.out / "ablations.csv", head.replace(str(usual), str(options.out)),
                  rows_about(options.out))  # fmt: skip


if __name__ == "__main__":
    main()
