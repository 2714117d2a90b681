"""Our kernels and library against each of NVIDIA's ways to multiply, as in CUDA-L2's Table 1.

    libraries.py TABLE.csv...

`hgemm bench --against` times NVIDIA's other ways beside the bar on one shape in ten; their samples
are in the file beside the table (TABLE.samples.csv.zst), which may end in .gz. A ratio is the median over the rounds of a process of (their time /
ours) in the same round; a shape that several files hold has the geometric mean of its ratios.
Printed are, for each mode, of us and of them: shapes, mean, median, standard deviation and geometric
mean of the ratios, and the share of shapes where ours is faster. torch.matmul calls cublasGemmEx.
Needs zstdcat.
"""

from __future__ import annotations

import csv
import io
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from statistics import fmean, geometric_mean, median, stdev

from passes import has_pack, lines_of

OURS = {"kernel": "kernel alone", "plain": "without overlap", "ours": "library"}
BAR = "lt_auto"  # the fastest of them in each mode

Key = tuple[str, str, str]  # mode, ours, theirs
Rounds = dict[str, dict[tuple[str, str], float]]  # contender -> (process, round) -> microseconds


def samples_of(table: Path) -> str:
    path = table.with_name(table.name.removesuffix(".gz").removesuffix(".csv") + ".samples.csv.zst")
    return subprocess.run(["zstdcat", path], check=True, capture_output=True, text=True).stdout


def ratios_of(text: str, with_library: bool) -> dict[Key, dict[str, float]]:
    """A file's ratios by shape; of shapes that were measured beside the bar alone, none."""
    measured: dict[tuple[str, str], Rounds] = defaultdict(lambda: defaultdict(dict))
    for row in csv.DictReader(line for line in io.StringIO(text) if not line.startswith("#")):
        shape = "x".join((row["m"], row["n"], row["k"]))
        rounds = measured[row["mode"], shape][row["contender"]]
        rounds[row["process"], row["round"]] = float(row["us"])
    ratios: dict[Key, dict[str, float]] = defaultdict(dict)
    for (mode, shape), rounds in measured.items():
        others = [name for name in rounds if name not in OURS]
        if others == [BAR]:
            continue
        if not with_library:
            del rounds["ours"]
        rounds.setdefault("plain", rounds["kernel"])  # it overlaps nothing by itself
        for ours in set(OURS) & set(rounds):
            for theirs in others:
                both = rounds[ours].keys() & rounds[theirs].keys()
                pairs = [rounds[theirs][at] / rounds[ours][at] for at in both]
                ratios[mode, ours, theirs][shape] = median(pairs)
    return ratios


def joined(files: list[dict[Key, dict[str, float]]]) -> dict[Key, list[float]]:
    """One ratio a shape."""
    by_shape: dict[Key, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for ratios in files:
        for key, shapes in ratios.items():
            for shape, ratio in shapes.items():
                by_shape[key][shape].append(ratio)
    return {key: [geometric_mean(all_of) for all_of in shapes.values()]
            for key, shapes in by_shape.items()}  # fmt: skip


def line_of(ratios: list[float]) -> str:
    faster = sum(ratio > 1 for ratio in ratios) / len(ratios)
    return (f"{len(ratios):6}  {fmean(ratios):6.3f}  {median(ratios):6.3f}  {stdev(ratios):6.3f}  "
            f"{geometric_mean(ratios):7.3f}  {faster:6.1%}")  # fmt: skip


def main(paths: list[str]) -> int:
    if not paths:
        print(__doc__, file=sys.stderr)
        return 64
    tables = [Path(path) for path in paths]
    table = joined([ratios_of(samples_of(one), has_pack(lines_of(one))) for one in tables])
    for mode in dict.fromkeys(mode for mode, _, _ in table):
        print(f"\nmode {mode}\n{'ours':16}{'theirs':24}shapes    mean  median     std  geomean  faster")
        for ours, name in OURS.items():
            for key in sorted(key for key in table if key[:2] == (mode, ours)):
                theirs = "the bar" if key[2] == BAR else key[2]
                print(f"{name:16}{theirs:24}{line_of(table[key])}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
