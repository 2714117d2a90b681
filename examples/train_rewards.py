#!/usr/bin/env python3
"""Trains a language model, made on the spot, on the rewards of `warpsmith serve`. CPU, 20 minutes.

    warpsmith serve --device data/recordings/spaces &
    PYTHONPATH=python python examples/train_rewards.py --into trained

Needs torch, trl and matplotlib. The model reads the sizes of a matrix product and writes a kernel's
configuration: a letter for the family and one for each parameter. It first copies recorded
configurations, good and bad ones (stage 1), and then learns from rewards by TRL's GRPOTrainer,
once a seed. A quarter of the shapes is held out from both. Written into the folder: stage1 (which
is taken when it is there already), rewards.csv, evaluation.csv and rewards.svg.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import random
import statistics
import subprocess
from pathlib import Path

os.environ.setdefault("HF_HUB_OFFLINE", "1")
import torch
from datasets import Dataset
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast
from trl import GRPOConfig, GRPOTrainer

from warpsmith_rewards import Judge

CHECKOUT = Path(__file__).resolve().parents[1]
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
PAD, END, GO = "_", ".", ":"
GROUP, PROMPTS = 16, 4  # completions of a prompt; prompts of a step


class Language:
    """Configurations as words: what the recordings hold says which letters there are."""

    def __init__(self, rows: dict[str, list[dict]]):
        self.values: dict[str, dict[str, list[int]]] = {}
        for row in (row for shape in rows.values() for row in shape):
            family = self.values.setdefault(row["point"]["family"], {})
            for name, value in row["point"]["config"].items():
                family.setdefault(name, [])
                if value not in family[name]:
                    family[name].append(value)
        self.families = sorted(self.values)
        for family in self.values.values():
            for values in family.values():
                values.sort()
        sizes = {int(size) for shape in rows for size in shape.split("x")}
        self.sizes = sorted(sizes)
        self.longest = 2 + max(len(family) for family in self.values.values())
        vocabulary = {letter: i for i, letter in enumerate(PAD + END + GO + LETTERS)}
        words = Tokenizer(models.WordLevel(vocabulary, unk_token=PAD))
        words.pre_tokenizer = pre_tokenizers.Split("", "isolated")
        self.tokenizer = PreTrainedTokenizerFast(
            tokenizer_object=words, pad_token=PAD, eos_token=END, padding_side="left",
            clean_up_tokenization_spaces=False)  # fmt: skip

    def prompt(self, shape: str) -> str:
        return "".join(LETTERS[self.sizes.index(int(size))] for size in shape.split("x")) + GO

    def write(self, point: dict) -> str:
        family, config = point["family"], point["config"]
        word = LETTERS[self.families.index(family)]
        for name, values in sorted(self.values[family].items()):
            # Older rows lack newer parameters, whose default is their least value.
            word += LETTERS[values.index(config.get(name, values[0]))]
        return word

    def read(self, word: str) -> str:
        """What a chat model would have replied; a word of another form is passed on as it is."""
        word = word.replace(" ", "").replace(PAD, "").split(END)[0]
        if not word or word[0] not in LETTERS[: len(self.families)]:
            return word
        family = self.families[LETTERS.index(word[0])]
        names = sorted(self.values[family].items())
        if len(word) != 1 + len(names) or GO in word:
            return word
        values = {}
        for (name, known), letter in zip(names, word[1:]):
            if LETTERS.index(letter) >= len(known):
                return word
            values[name] = known[LETTERS.index(letter)]
        return f"```json\n{json.dumps({'family': family, 'values': values})}\n```"


def recorded(program: str, device: str, shapes: list[str]) -> dict[str, list[dict]]:
    rows = {}
    for shape in shapes:
        command = [program, "hgemm", "show", shape, "--device", device, "--top", "0", "--json"]
        shown = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
        rows[shape] = [row for row in shown["points"] if row["outcome"] == "passed"]
    return rows


def warm_up(language: Language, rows: dict[str, list[dict]], steps: int, seed: int):
    """A model that writes configurations as the recordings have them, good and bad ones alike."""
    torch.manual_seed(seed)
    draws = random.Random(seed)
    model = LlamaForCausalLM(
        LlamaConfig(vocab_size=len(language.tokenizer), hidden_size=96, intermediate_size=192,
                    num_hidden_layers=3, num_attention_heads=4, max_position_embeddings=64,
                    pad_token_id=0, eos_token_id=1, bos_token_id=None))  # fmt: skip
    pairs = [(shape, row["point"]) for shape, known in rows.items() for row in known]
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 4e-3, total_steps=steps)
    for step in range(steps):
        texts = [language.prompt(shape) + language.write(point) + END
                 for shape, point in draws.choices(pairs, k=96)]  # fmt: skip
        batch = language.tokenizer(texts, return_tensors="pt", padding=True, padding_side="right",
                                   return_token_type_ids=False)  # fmt: skip
        labels = batch["input_ids"].masked_fill(batch["attention_mask"] == 0, -100)
        labels[:, :4] = -100  # the sizes are given
        loss = model(**batch, labels=labels).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        if step % 50 == 49:
            print(f"stage 1: step {step + 1}, loss {loss.item():.3f} a letter", flush=True)
    return model


@torch.no_grad()
def evaluate(model, language, judge, rows, shapes, samples: int) -> list[dict]:
    """What the model's samples are worth on each shape, beside the best that is recorded."""
    model.eval()
    results = []
    for shape in shapes:
        given = language.tokenizer([language.prompt(shape)] * samples, return_tensors="pt",
                                   return_token_type_ids=False)  # fmt: skip
        written = model.generate(**given, do_sample=True, max_new_tokens=language.longest)
        words = language.tokenizer.batch_decode(written[:, 4:])
        task = f"hgemm:{shape}:TN"
        answers = judge.rewards([{"task": task, "completion": language.read(w)} for w in words])
        best = max(row["ratio"] for row in rows[shape])
        ratios = [answer["ratio"] for answer in answers if answer["outcome"] == "passed"]
        rewards = [answer["reward"] for answer in answers if answer["reward"] is not None]
        results.append({
            "shape": shape, "samples": samples, "passed": len(ratios), "measured": len(rewards),
            "reward": round(statistics.mean(rewards), 4) if rewards else "",
            "share_of_best": round(statistics.mean(ratios) / best, 4) if ratios else "",
            "within_5_percent": sum(ratio >= 0.95 * best for ratio in ratios)})  # fmt: skip
    return results


def learn(folder: Path, start: Path, language, judge, shapes, steps: int, seed: int):
    """GRPO from the folder `start`. The trained model, and the trainer's log."""

    async def reward(completions, task, prompts, log_metric=None, **_):
        samples = [{"task": task[i], "completion": language.read(word), "group": prompts[i]}
                   for i, word in enumerate(completions)]  # fmt: skip
        answers = await judge.rewards_async(samples)
        log_metric("passed", sum(a["outcome"] == "passed" for a in answers) / len(answers))
        log_metric("unmeasured", sum(a["reward"] is None for a in answers) / len(answers))
        return [answer["reward"] for answer in answers]

    questions = [{"prompt": language.prompt(s), "task": f"hgemm:{s}:TN"} for s in shapes]
    torch.manual_seed(seed)
    trainer = GRPOTrainer(
        str(start), reward_funcs=reward, processing_class=language.tokenizer,
        train_dataset=Dataset.from_list(questions),
        args=GRPOConfig(
            output_dir=str(folder / "trainer"), seed=seed, max_steps=steps, learning_rate=5e-4,
            per_device_train_batch_size=GROUP * PROMPTS, num_generations=GROUP, beta=0.02,
            max_completion_length=language.longest, lr_scheduler_type="constant_with_warmup",
            warmup_steps=5, logging_steps=1, report_to=[], use_cpu=True, save_strategy="no",
            disable_tqdm=True, logging_strategy="steps"))  # fmt: skip
    trainer.train()
    return trainer.model, [line for line in trainer.state.log_history if "reward" in line]


def write_csv(path: Path, head: str, rows: list[dict]) -> None:
    with path.open("w", newline="") as file:
        file.write(head)
        table = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        table.writeheader()
        table.writerows(rows)


def draw(source: Path, path: Path) -> None:
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams.update({"svg.hashsalt": "warpsmith", "svg.fonttype": "none"})
    from matplotlib import pyplot

    lines = [line for line in source.read_text().splitlines() if not line.startswith("#")]
    rows = list(csv.DictReader(lines))
    figure, axes = pyplot.subplots(figsize=(6, 3.2), layout="constrained")
    for seed in sorted({row["seed"] for row in rows}):
        rewards = [float(row["reward"]) for row in rows if row["seed"] == seed and row["reward"]]
        smooth = [statistics.mean(rewards[max(0, i - 9) : i + 1]) for i in range(len(rewards))]
        axes.plot(range(1, len(smooth) + 1), smooth, label=f"seed {seed}", linewidth=1)
    axes.set(xlabel="GRPO step", ylabel="mean reward (last 10 steps)")
    axes.legend(frameon=False, fontsize="small")
    figure.savefig(path, metadata={"Date": None})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--judge", default="http://127.0.0.1:8321", help="address of the server")
    parser.add_argument("--program", default=str(CHECKOUT / "build/release/bin/warpsmith"))
    parser.add_argument("--device", default=str(CHECKOUT / "data/recordings/spaces"))
    parser.add_argument("--into", type=Path, default=Path("trained"))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--warm-steps", type=int, default=500)
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--samples", type=int, default=64, help="of each shape in the evaluation")
    options = parser.parse_args()
    torch.set_num_threads(1)

    judge = Judge(options.judge, reward={"form": "eq3"})
    names = [task["name"].split(":") for task in judge.tasks() if task["name"].startswith("hgemm:")]
    shapes = sorted(name[1] for name in names if name[2:] == ["TN"])
    rows = recorded(options.program, options.device, shapes)
    held_out = sorted(random.Random(7).sample(shapes, len(shapes) // 4))
    known = [shape for shape in shapes if shape not in held_out]
    language = Language(rows)
    options.into.mkdir(parents=True, exist_ok=True)
    start = options.into / "stage1"
    if not (start / "config.json").exists():
        copied = {shape: rows[shape] for shape in known}
        warm_up(language, copied, options.warm_steps, seed=0).save_pretrained(start)
        language.tokenizer.save_pretrained(start)
    warm = LlamaForCausalLM.from_pretrained(start)

    curves, evaluation = [], []

    def note(model, seed, when):
        for which, some in (("trained", known), ("held-out", held_out)):
            for row in evaluate(model, language, judge, rows, some, options.samples):
                evaluation.append({"seed": seed, "when": when, "shapes": which, **row})

    torch.manual_seed(1)
    note(warm, "", "before")
    for seed in range(1, options.seeds + 1):
        model, log = learn(options.into, start, language, judge, known, options.steps, seed)
        for line in log:
            fields = ("reward", "reward_std", "frac_reward_zero_std", "passed", "unmeasured", "kl")
            # TRL has no number where nothing of a step could be measured.
            curves.append({"seed": seed, "step": len(curves) % options.steps + 1}
                          | {n: "" if line[n] is None else round(line[n], 4) for n in fields})
        note(model, seed, "after")

    version = subprocess.run(["git", "-C", CHECKOUT, "rev-parse", "--short", "HEAD"],
                             capture_output=True, text=True).stdout.strip()  # fmt: skip
    date = subprocess.run(["date", "-u", "+%Y-%m-%d"], capture_output=True, text=True).stdout
    head = (f"# examples/train_rewards.py --seeds {options.seeds} --warm-steps {options.warm_steps}"
            f" --steps {options.steps} --samples {options.samples}; rewards of"
            f" {Path(options.device).name}, commit {version}, {date.strip()}, CPU\n")  # fmt: skip
    write_csv(options.into / "rewards.csv", head, curves)
    write_csv(options.into / "evaluation.csv", head, evaluation)
    draw(options.into / "rewards.csv", options.into / "rewards.svg")
    for which in ("trained", "held-out"):
        for when in ("before", "after"):
            some = [r for r in evaluation if (r["shapes"], r["when"]) == (which, when)]
            rewards = [row["reward"] for row in some if row["reward"] != ""]
            passed = sum(row["passed"] for row in some) / sum(row["samples"] for row in some)
            best = sum(row["within_5_percent"] for row in some) / sum(r["samples"] for r in some)
            print(f"{which} shapes {when}: reward {statistics.mean(rewards):.3f}, measured and "
                  f"right {passed:.1%}, within 5 % of the best {best:.1%}")  # fmt: skip


if __name__ == "__main__":
    main()
