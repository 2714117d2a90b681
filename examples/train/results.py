"""From the rows of all seeds: summary.csv, MODEL_CARD.md and rewards.svg.

    python examples/train/results.py FOLDER     # makes them again

A seed's figure is the mean over its shapes. An interval is Student's 95 % over seeds.
"""

from __future__ import annotations

import csv
import statistics
import sys
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(CHECKOUT / "python"))

from warpsmith.train.evaluate import interval

FIGURES = ("reward", "passed", "unmeasured", "share_of_best", "fast_1", "fast_1.1",
           "within_5_percent", "geomean", "evaluations_95", "evaluations_99")  # fmt: skip


def rows_of(path: Path) -> list[dict]:
    with path.open() as file:
        return list(csv.DictReader(line for line in file if not line.startswith("#")))


def by_seed(rows: list[dict], figure: str) -> dict[str, float]:
    """Seed -> mean over its shapes; shapes without the figure are left out."""
    values: dict[str, list[float]] = {}
    for row in rows:
        if row[figure] != "":
            values.setdefault(row["seed"], []).append(float(row[figure]))
    return {seed: statistics.mean(some) for seed, some in values.items()}


def by_step(steps: list[dict], name: str) -> dict[int, float]:
    """Step -> mean over seeds; steps without a proven gain are left out."""
    values: dict[int, list[float]] = {}
    for row in steps:
        if row[name] != "":
            values.setdefault(int(row["step"]), []).append(float(row[name]))
    return {step: statistics.mean(values[step]) for step in sorted(values)}


def summary_of(samples: list[dict]) -> list[dict]:
    """A row for each figure, split and stage, and for the difference of the two stages."""
    lines = []
    for split in ("held-out", "trained"):
        for figure in FIGURES:
            stages = {when: by_seed([r for r in samples if (r["shapes"], r["after"]) == (split, when)],
                                    figure) for when in ("stage 1", "RL")}  # fmt: skip
            both = [seed for seed in stages["stage 1"] if seed in stages["RL"]]
            gains = [stages["RL"][seed] - stages["stage 1"][seed] for seed in both]
            for name, values in (*((when, list(of.values())) for when, of in stages.items()),
                                 ("difference", gains)):  # fmt: skip
                if not values:
                    continue
                mean, low, high = interval(values)
                lines.append({"shapes": split, "figure": figure, "after": name,
                              "seeds": len(values), "mean": round(mean, 4),
                              "low": round(low, 4), "high": round(high, 4)})  # fmt: skip
    return lines


def pick(lines: list[dict], split: str, figure: str, after: str) -> dict | None:
    for line in lines:
        if (line["shapes"], line["figure"], line["after"]) == (split, figure, after):
            return line
    return None


def in_words(line: dict | None) -> str:
    if line is None:
        return "-"
    return f"{line['mean']:.3f} ({line['low']:.3f} to {line['high']:.3f})"


def card(folder: Path, head: str, lines: list[dict], options) -> str:
    held_out = pick(lines, "held-out", "reward", "difference")
    text = ["# Model card: kernels of matrix products as text", "", f"Made by `{head[2:].strip()}`.", ""]
    text += [
        "What it is: a decoder of Llama's form, "
        f"{options.layers} layers of width {options.width}, trained from nothing. It reads the sizes "
        "of a matrix product (FP16, B column-major) and what follows from them, and writes the "
        "configuration of a kernel of our families as JSON. It shows that the pipeline learns; it is "
        "no product: `warpsmith hgemm tune` finds faster kernels with fewer measurements.",
        "",
        f"Training: stage 1, {options.stage1_steps} steps of {options.stage1_batch} recorded kernels, "
        f"good and bad alike. RL, {options.steps} steps of {options.prompts} prompts and "
        f"{options.group} kernels each, by TRL, KL weight {options.beta}, "
        f"{options.advantage} advantage, reward {options.reward}. A kernel that the recording lacks, "
        f"and so cannot be measured, earns {options.unmeasured:g}, as one that fails.",
        "",
        "Data: verdicts of an NVIDIA H200, data/recordings/spaces and tuning rows in data/perf. Each "
        f"seed holds out {'all' if options.folds == 1 else f'one part in {options.folds}'} of the "
        "recorded shapes, with their transposes, from both stages. Share of RL's prompts for shapes of "
        f"tuning rows: {options.rows_in_rl if options.folds > 1 else 1:g}.",
        "",
        "| mean over seeds (95 % interval) | after stage 1 | after RL | difference |",
        "| --- | --- | --- | --- |",
    ]
    names = {"reward": "reward", "passed": "measured and right", "share_of_best": "share of the best "
             "kernel's speed, failures as 0", "fast_1": "faster than cuBLASLt",
             "within_5_percent": "within 5 % of the best", "evaluations_95": "evaluations to 95 % of "
             "the best, likeliest first", "evaluations_99": "evaluations to 99 %"}  # fmt: skip
    for split in ("held-out", "trained"):
        for figure, name in names.items():
            cells = [in_words(pick(lines, split, figure, a)) for a in ("stage 1", "RL", "difference")]
            if cells != ["-"] * 3:
                text.append(f"| {split}: {name} | " + " | ".join(cells) + " |")
    if held_out is not None:
        rises = held_out["low"] > 0
        text += ["", f"On shapes that it never saw the reward {'rises' if rises else 'does not surely rise'}: "
                 f"{in_words(held_out)} over {held_out['seeds']} seeds."]  # fmt: skip
    return "\n".join(text) + "\n"


def draw(folder: Path, steps: list[dict], samples: list[dict]) -> None:
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams.update({"svg.hashsalt": "warpsmith", "svg.fonttype": "none", "font.size": 9})
    from matplotlib import pyplot

    figure, (left, right, watch) = pyplot.subplots(
        1, 3, figsize=(11, 3.2), layout="constrained", width_ratios=(3, 2, 3))  # fmt: skip
    seeds = sorted({row["seed"] for row in steps}, key=int)
    for seed in seeds:
        rewards = [float(row["reward"]) for row in steps if row["seed"] == seed and row["reward"]]
        smooth = [statistics.mean(rewards[max(0, i - 9) : i + 1]) for i in range(len(rewards))]
        left.plot(range(1, len(smooth) + 1), smooth, label=f"seed {seed}", linewidth=1)
    left.set(xlabel="step of RL", ylabel="reward in training (mean of 10 steps)")
    left.legend(frameon=False, fontsize="x-small", ncols=2)
    for split, colour in (("held-out", "tab:red"), ("trained", "tab:gray")):
        for number, seed in enumerate(seeds):
            ends = [by_seed([r for r in samples if (r["shapes"], r["after"], r["seed"]) ==
                             (split, when, seed)], "reward").get(seed) for when in ("stage 1", "RL")]  # fmt: skip
            if None not in ends:
                right.plot((0, 1), ends, color=colour, marker="o", markersize=3, linewidth=1,
                           label=f"{split} shapes" if number == 0 else None)  # fmt: skip
    right.set(xticks=(0, 1), xticklabels=("stage 1", "RL"), ylabel="reward of samples, one line a seed")
    right.margins(x=0.2)
    right.legend(frameon=False, fontsize="x-small")
    for name in [name for name in steps[0] if name.startswith("gain_")] if steps else []:
        means = by_step(steps, name)
        watch.plot(list(means), list(means.values()), label=name[5:].replace("_", " "), linewidth=1)
    watch.set(xlabel="step of RL", ylabel="what proven gains come by")
    watch.legend(frameon=False, fontsize="x-small")
    figure.savefig(folder / "rewards.svg", metadata={"Date": None})
    figure.savefig(folder / "rewards.png", dpi=110)


def write_csv(path: Path, head: str, rows: list[dict]) -> None:
    with path.open("w", newline="") as file:
        file.write(head)
        table = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        table.writeheader()
        table.writerows(rows)


def summarise(folder: Path, head: str, options) -> None:
    if not (folder / "samples.csv").exists():
        return
    samples, steps = rows_of(folder / "samples.csv"), []
    if (folder / "steps.csv").exists():
        steps = rows_of(folder / "steps.csv")
    lines = summary_of(samples)
    write_csv(folder / "summary.csv", head, lines)
    (folder / "MODEL_CARD.md").write_text(card(folder, head, lines, options))
    for line in lines:
        if line["figure"] in ("reward", "passed", "share_of_best", "evaluations_99"):
            print(f"{line['shapes']}: {line['figure']} {line['after']}: {in_words(line)}")
    try:
        draw(folder, steps, samples)
    except ModuleNotFoundError:
        print("no plot: matplotlib is not installed")


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    draw(folder, rows_of(folder / "steps.csv"), rows_of(folder / "samples.csv"))
