"""What several passes of `warpsmith hgemm bench --against` say together, over the same shapes.

    passes.py [--update]               of data/hgemm, for README.md, docs/perf.md and hgemm show
    passes.py PASS.csv PASS.csv... [--catalogue CATALOGUE.csv]    the latter's lines, of others

A pass in several files, of different shapes, is written A.csv,B.csv; files may end in .gz. The
first pass chose the kernels, so it flatters them. --update puts each line in the place of the line
of the page that begins in the same way: a table's row with its first cell, text with three words.

A ratio is the bar's time over ours: above 1 ours is faster. The interval in a row of one pass is of
one process: it does not know what another process, with other addresses, on another day or GPU,
would have measured. Here every pass is one draw. For each mode, size class and contender, what a
pass lies off the truth by is pooled over all shapes that two or more passes hold. It has longer
tails than a normal distribution, so the 99 % interval of a shape's mean over its P passes is mean
+- q / sqrt(P), in logarithms, where q is what one pass in a hundred lies off by or more. "Shown"
are the shapes whose whole interval lies there. What all shapes of one pass share (the host, the
GPU) does not average out over shapes, so the geometric means of single passes are told, too.

"Equal kernels": where the library runs the very kernel that is also launched alone, and that kernel
needs no workspace (the library's lies elsewhere), how often the two are called different.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import math
import re
import sys
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

ROOT = Path(__file__).resolve().parents[2]
HGEMM = ROOT / "data/hgemm"
MEANS = HGEMM / "means_of_catalogue.csv"
PASSES = ["bar_h200,bar_rest_h200", "h200", "again_h200", "pass4_h200", "chosen_again_h200",
          "rest_h200"]
CONTENDERS = {"kernel": "ratio_kernel", "library": "ratio", "without overlap": "ratio_plain"}
CLASSES = {"tiny": 2.0**28, "small": 2.0**33, "medium": 2.0**37, "large": math.inf}  # 2 M N K
MODES = ["device", "device-cold", "offline", "server"]
WIDE = 500  # shapes: a pass of fewer is of chosen ones
CONFIDENCE = 0.99
SIZES = [*CLASSES, ""]  # and all

Shape = tuple[int, int, int]
Key = tuple[str, str]  # mode, contender


@dataclass(frozen=True)
class Row:
    """One shape in one mode: the logarithms of the bar's time over each contender's."""

    logs: dict[str, float]
    choice: str  # the kernel that the library runs, or cublaslt


Pass = dict[tuple[Shape, str], Row]


def class_of(shape: Shape) -> str:
    flops = 2.0 * shape[0] * shape[1] * shape[2]
    return next(name for name, most in CLASSES.items() if flops <= most)


def texts_of(files: str) -> dict[str, list[str]]:
    """The lines of each file of one pass."""
    return {name: lines_of(Path(name)) for name in files.split(",")}


def read_pass(files: str) -> Pass:
    return pass_of(texts_of(files))


def pass_of(texts: dict[str, list[str]]) -> Pass:
    rows: Pass = {}
    for name, text in texts.items():
        rows |= rows_of(name, text)
    return rows


def lines_of(table: Path) -> list[str]:
    packed = table.suffix == ".gz"
    return (gzip.open(table, "rt").read() if packed else table.read_text()).splitlines()


def has_pack(lines: list[str]) -> bool:
    """A library without its pack runs cuBLASLt alone: it says nothing of ours."""
    return "# pack: none" not in lines


def rows_of(name: str, text: list[str]) -> Pass:
    with_library = has_pack(text)
    rows: Pass = {}
    for row in csv.DictReader([line for line in text if line and not line.startswith("#")]):
        shape = (int(row["m"]), int(row["n"]), int(row["k"]))
        logs = {}
        for contender, column in CONTENDERS.items():
            if row.get(column) and (with_library or contender != "library"):
                logs[contender] = math.log(float(row[column]))
        rows[shape, row["mode"]] = Row(logs, row["choice"])
    if not rows:
        raise SystemExit(f"passes.py: {name}: no rows of a comparison")
    return rows


def choices_of(catalogue: Path) -> dict[Shape, str]:
    text = [line for line in lines_of(catalogue) if not line.startswith("#")]
    return {
        (int(row["m"]), int(row["n"]), int(row["k"])): row[
            "kernel" if row["choice"] == "kernel" else "choice"
        ]
        for row in csv.DictReader(text)
    }


def as_chosen(one: Pass, choices: dict[Shape, str]) -> Pass:
    """Without the library's times where it ran another choice than the catalogue's of today."""
    return {
        (shape, mode): row
        if choices.get(shape) == row.choice
        else Row({name: log for name, log in row.logs.items() if name != "library"}, row.choice)
        for (shape, mode), row in one.items()
    }


def deviations(groups: list[list[float]]) -> list[float]:
    """What single draws lie off by: from the group's mean, which follows its draws a little."""
    off = []
    for group in groups:
        for draw in group if len(group) > 1 else []:
            off.append(abs(draw - fmean(group)) * math.sqrt(len(group) / (len(group) - 1)))
    return sorted(off)


def quantile(ordered: list[float], share: float) -> float:
    """nan of nothing."""
    return ordered[math.ceil(share * len(ordered)) - 1] if ordered else math.nan


def draws_of(passes: list[Pass]) -> dict[Key, dict[Shape, list[float]]]:
    draws: dict[Key, dict[Shape, list[float]]] = defaultdict(lambda: defaultdict(list))
    for one in passes:
        for (shape, mode), row in one.items():
            for contender, log in row.logs.items():
                draws[mode, contender][shape].append(log)
    return draws


@dataclass(frozen=True)
class Combined:
    shape: Shape
    mean: float  # of the logarithms
    passes: int
    half: float  # half the width of the 99 % interval of the mean; nan: there is one pass of all


def combine(by_shape: dict[Shape, list[float]]) -> tuple[list[Combined], dict[str, list[float]]]:
    """The shapes, and what single passes lie off by, by class."""
    off = {
        name: deviations([logs for shape, logs in by_shape.items() if class_of(shape) == name])
        for name in CLASSES
    }
    combined = [
        Combined(shape, fmean(logs), len(logs),
                 quantile(off[class_of(shape)], CONFIDENCE) / math.sqrt(len(logs)))
        for shape, logs in by_shape.items()
    ]  # fmt: skip
    return combined, off


def geomeans(passes: list[Pass], mode: str) -> list[float]:
    """Of the kernels alone in each pass that holds most shapes, over those that all these share."""
    logs = [{s: row.logs["kernel"] for (s, m), row in one.items() if m == mode} for one in passes]
    wide = [one for one in logs if len(one) >= WIDE] or logs
    shared = set.intersection(*(set(one) for one in wide))
    return [math.exp(fmean(one[s] for s in shared)) for one in wide]


def has_workspace(choice: str) -> bool:
    return any(int(count) > 1 for count in re.findall(r"\b(?:slices|splits)=(\d+)", choice))


def again(passes: list[Pass]) -> tuple[int, int]:
    """A/A over all modes: comparisons, and how many are called different."""
    differences: dict[tuple[str, str], dict[Shape, list[float]]] = defaultdict(
        lambda: defaultdict(list)
    )
    for one in passes:
        for (shape, mode), row in one.items():
            same_kernel = row.choice != "cublaslt" and not has_workspace(row.choice)
            if same_kernel and {"kernel", "library"} <= row.logs.keys():
                difference = row.logs["library"] - row.logs["kernel"]
                differences[mode, class_of(shape)][shape].append(difference)
    count = different = 0
    for by_shape in differences.values():
        groups = [logs for logs in by_shape.values() if len(logs) > 1]
        # What dispatch costs in this mode and class is no difference between the kernels.
        shift = fmean(map(fmean, groups)) if groups else 0
        widest = quantile(deviations(groups), CONFIDENCE)
        different += sum(abs(fmean(g) - shift) > widest / math.sqrt(len(g)) for g in groups)
        count += len(groups)
    return count, different


@dataclass(frozen=True)
class Grid:
    """The library where it ran what it would run today, and the kernels alone, over all passes."""

    choices: dict[Shape, str]
    passes: list[Pass]
    files: list[list[str]]  # their lines
    found: dict[Key, tuple[list[Combined], dict[str, list[float]]]]

    def rows(self, mode: str, contender: str, size: str = "") -> list[Combined]:
        rows = self.found[mode, contender][0]
        return [row for row in rows if size in ("", class_of(row.shape))]

    def above_in_all(self) -> int:
        return len(set.intersection(*(above(self.rows(mode, "library")) for mode in MODES)))

    def by_cublaslt(self) -> list[Combined]:
        hot = self.rows("device", "library")
        return [row for row in hot if self.choices[row.shape] == "cublaslt"]


def read_grid(passes: list[str], catalogue: Path) -> Grid:
    choices = choices_of(catalogue)
    texts = [texts_of(one) for one in passes]
    read = [as_chosen(pass_of(one), choices) for one in texts]
    found = {key: combine(draws) for key, draws in draws_of(read).items()}
    for key in [(mode, name) for mode in MODES for name in CONTENDERS if (mode, name) not in found]:
        raise SystemExit(f"passes.py: no pass times {key}; measure with --catalogue, in four modes")
    return Grid(choices, read, [lines for one in texts for lines in one.values()], found)


def geomean(rows: list[Combined]) -> str:
    return f"{math.exp(fmean(row.mean for row in rows)):.3f}"


def reach(rows: list[Combined], ratio: float = 1) -> int:
    return sum(row.mean >= math.log(ratio) for row in rows)


def lost(rows: list[Combined]) -> int:
    return len(rows) - reach(rows, 0.99)


def above(rows: list[Combined]) -> set[Shape]:
    return {row.shape for row in rows if row.mean - row.half > 0}


def below(rows: list[Combined]) -> set[Shape]:
    return {row.shape for row in rows if row.mean + row.half < math.log(0.99)}


def text_of_choices(grid: Grid) -> str:
    """What of the library only the pass measured that chose its kernels, and what none."""
    hot = grid.rows("device", "library")
    later = {s for one in grid.passes[1:] for (s, _), row in one.items() if "library" in row.logs}
    afresh = [row for row in hot if row.shape in later]
    once = [class_of(row.shape) for row in hot if row.shape not in later]
    lost = [class_of(shape) for shape in grid.choices.keys() - {row.shape for row in hot}]
    text = ""
    if once:
        text += (f" {len(once)} ({sum(size in ('medium', 'large') for size in once)} medium or "
                 "large) were not measured again after their kernel was chosen; the "
                 f"{len(afresh)} that were: {geomean(afresh)}.")  # fmt: skip
    if lost:
        text += (f" {len(lost)} ({', '.join(sorted(set(lost)))}) are missing: their choice changed after "
                 "the library was measured.")  # fmt: skip
    return text


def text_of_checks(files: list[list[str]]) -> str:
    checked: list[str] = []
    faster: list[float] = []  # of each check that found one, the fastest other way
    for lines in files:
        best: dict[str, float] = {}
        for head, *row in (re.split("[:,] ?", line) for line in lines if line.startswith("#")):
            shape = "x".join(row[:3])
            checked += [shape] if head == "# bar checked" else []
            if head == "# faster than the bar":
                best[shape] = max(best.get(shape, 0), 100 * float(row[5]) - 100)
        faster += best.values()
    by = f" ({min(faster):.1f} to {max(faster):.1f} %)" if faster else ""
    return (f"In {len(faster)} of {len(checked)} checks ({len(set(checked))} shapes) another of "
            f"NVIDIA's ways was faster than the bar{by}.")  # fmt: skip


def text_of_spread(grid: Grid) -> str:
    hot, single = (geomeans(grid.passes, mode) for mode in ("device", "server"))
    off = grid.found["device", "library"][1]
    q = [f"{100 * quantile(off[size], CONFIDENCE):.0f} % ({size})" for size in CLASSES]
    count, different = again(grid.passes)
    return (f"The passes' geometric means of the same shapes are {min(hot):.3f} to {max(hot):.3f} "
            f"hot and {min(single):.2f} to {max(single):.2f} in single calls, where the host "
            f"counts. At one shape, one pass in 100 lies off by {', '.join(q)} or more hot; "
            f'"shown" counts this. In {count:,} comparisons of equal kernels '
            f"{100 * different / max(count, 1):.1f} % were called different.")  # fmt: skip


def readme(grid: Grid) -> list[str]:
    lines = []
    for label, size in zip(("2·M·N·K to 2²⁸", "to 2³³", "to 2³⁷", "more", "all products"), SIZES):
        hot, plain = (grid.rows("device", name, size) for name in ("library", "without overlap"))
        worst = math.exp(min(row.mean for row in hot))
        lines.append(f"| {label} | {len(hot)} | {geomean(hot)} | {len(above(hot))} | {worst:.3f} | "
                     f"{geomean(plain)} |")  # fmt: skip
    low = min(plain, key=lambda row: row.mean)
    theirs = grid.by_cublaslt()
    return [*lines,
        "The geomean weighs this grid's shapes alike; your mix differs. Shown: the 99 % interval "
        "is above 1; in all [four modes](docs/library.md#compare-a-library-with-cublaslt): "
        f"{grid.above_in_all()}. {reach(hot)} reach 1, "
        f"{reach(theirs)} by cuBLASLt itself; {lost(hot)} are below 0.99, "
        f"{len(below(hot))} shown. Last column: all {len(plain):,} kernels alone, without the "
        f"launch overlap that cuBLAS lacks; {reach(plain)} reach 1, the worst "
        f"{math.exp(low.mean):.3f} ({'×'.join(map(str, low.shape))})." + text_of_choices(grid)]  # fmt: skip


def perf(grid: Grid) -> list[str]:
    lines = ["The library, its catalogue chosen by the first pass and `reguard_h200`; seven rounds "
             "a shape, pass and mode; figures by `python3 tools/study/passes.py`:"]  # fmt: skip
    for size in SIZES:
        hot, *others = (grid.rows(mode, "library", size) for mode in MODES)
        plain = grid.rows("device", "without overlap", size)
        cells = [size or "all", len(hot), geomean(hot), reach(hot), len(above(hot)), len(below(hot)),
                 *map(geomean, [*others, plain])]  # fmt: skip
        lines.append(f"| {' | '.join(map(str, cells))} |")
    shown = [len(above(grid.rows(mode, "library"))) for mode in MODES]
    alone = {key: geomean(rows) for key, (rows, _) in grid.found.items()}
    both = [f"{alone[mode, 'kernel']} / {alone[mode, 'without overlap']}" for mode in MODES]
    low = [f"{lost(rows)} ({math.exp(min(row.mean for row in rows)):.3f})"
           for rows in (grid.rows(mode, "library") for mode in MODES)]  # fmt: skip
    theirs = grid.by_cublaslt()
    return [*lines,
        f"- **Shown above** 1: hot {shown[0]}, cold {shown[1]}, back to back {shown[2]}, single "
        f"calls {shown[3]}, in all four {grid.above_in_all()}. cuBLASLt itself runs at "
        f"{len(theirs)} ({geomean(theirs)}).",
        f"- **The kernels alone**, {len(plain):,} shapes, with / without launch overlap: hot "
        f"{both[0]}, cold {both[1]}, back to back {both[2]}, single calls {both[3]}; below 0.99 "
        f"hot: {lost(grid.rows('device', 'kernel'))} / {lost(plain)}.",
        f"- **Where it loses.** Means below 0.99 (worst): hot {low[0]}, cold {low[1]}, back to back "
        f"{low[2]}, single calls {low[3]}. The {len(below(hot))} shown hot have K ≥ "
        f"{min((k for _, _, k in below(hot)), default=0)}; there mostly only NVIDIA's kernel for row-major B is "
        f"faster, which a column-major caller cannot use. {text_of_checks(grid.files)}",
        f"- **Across processes.** {text_of_spread(grid)}"]  # fmt: skip


def updated(page: str, lines: list[str]) -> str:
    rows = page.split("\n")
    for line in lines:
        begin = line[: line.index("|", 1)] if line[0] == "|" else " ".join(line.split()[:3])
        [place] = [at for at, row in enumerate(rows) if row.startswith(begin)]
        rows[place] = line
    return "\n".join(rows)


def means(grid: Grid) -> str:
    """What `hgemm show` reads: of each ratio's 99 % interval the distance in per cent."""
    columns = [(mode, "library") for mode in MODES] + [("device", "without overlap")]
    found = [{row.shape: row for row in grid.rows(*key)} for key in columns]
    text = "# tools/study/passes.py: means of the passes, and how far their 99 % intervals reach, %\n"
    text += "m,n,k,passes," + ",".join(MODES) + ",without overlap\n"
    for shape in sorted(grid.choices):
        rows = [one.get(shape) for one in found]
        cells = [f"{math.exp(row.mean):.3f} {100 * math.expm1(row.half):.1f}" if row else ""
                 for row in rows]  # fmt: skip
        text += ",".join(map(str, [*shape, rows[0].passes if rows[0] else 0, *cells])) + "\n"
    return text


def shipped() -> Grid:
    names = [",".join(f"{HGEMM}/{name}.csv.gz" for name in one.split(",")) for one in PASSES]
    return read_grid(names, HGEMM / "catalogue.csv")


def pages(grid: Grid) -> dict[str, list[str]]:
    return {"README.md": readme(grid), "docs/perf.md": perf(grid)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("passes", nargs="*", help="default: those of data/hgemm")
    parser.add_argument("--catalogue", type=Path, default=HGEMM / "catalogue.csv",
                        help="the library is left out where it ran another choice")  # fmt: skip
    parser.add_argument("--update", action="store_true", help="README.md, docs/perf.md and what hgemm show reads")
    options = parser.parse_args()
    if options.passes:
        return print(*perf(read_grid(options.passes, options.catalogue)), sep="\n")
    grid = shipped()
    if options.update:
        MEANS.write_text(means(grid))
    for page, lines in pages(grid).items():
        print(f"{page}:", *lines, sep="\n")
        if options.update:
            (ROOT / page).write_text(updated((ROOT / page).read_text(), lines))


if __name__ == "__main__":
    sys.exit(main())
