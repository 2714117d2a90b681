"""The two stages: kernels copied (transformers' Trainer), then rewards (TRL's GRPO or RLOO trainer).

Both keep checkpoints and go on from the last one; both stop at a deadline, which raises Stopped.
"""

from __future__ import annotations

import json
import os
import random
import time
from pathlib import Path

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

import torch
from corpus import Corpus
from datasets import Dataset
from transformers import LlamaConfig, LlamaForCausalLM, Trainer, TrainerCallback, TrainingArguments
from transformers.trainer_utils import get_last_checkpoint
from trl import GRPOConfig, GRPOTrainer, RLOOConfig, RLOOTrainer

from warpsmith.train.kernel_text import END, MOST_WORDS
from warpsmith_rewards.trl import reward_function

COPIED = -1.0  # what a kernel that the prompt shows earns: as much as one that fails


class Stopped(Exception):
    """The time is over; everything is in checkpoints."""


class StopAt(TrainerCallback):
    def __init__(self, deadline: float):
        self.deadline = deadline

    def on_step_end(self, args, state, control, **_):
        if time.time() > self.deadline:
            control.should_save = control.should_training_stop = True
        return control


def run(trainer, folder: Path, steps: int) -> None:
    """Trains to the end, from the last checkpoint. Raises Stopped where the deadline came first."""
    checkpoints = Path(trainer.args.output_dir)
    last = get_last_checkpoint(str(checkpoints)) if checkpoints.is_dir() else None
    trainer.train(resume_from_checkpoint=last)
    log = [line for line in trainer.state.log_history if "loss" in line or "reward" in line]
    (folder / f"{checkpoints.name}.json").write_text(json.dumps(log))
    if trainer.state.global_step < steps:
        raise Stopped(f"{checkpoints}: stopped at step {trainer.state.global_step} of {steps}")


class Draws(torch.utils.data.Dataset):
    """Rows of stage 1: the same for an index, however often it is asked for."""

    def __init__(self, corpus: Corpus, count: int, seed: int):
        self.corpus, self.count, self.seed = corpus, count, seed

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> tuple[str, str]:
        return self.corpus.draw(random.Random(self.seed * 1_000_003 + index))


def new_model(tokenizer, corpus: Corpus, options) -> LlamaForCausalLM:
    return LlamaForCausalLM(
        LlamaConfig(vocab_size=len(tokenizer), hidden_size=options.width,
                    intermediate_size=3 * options.width, num_hidden_layers=options.layers,
                    num_attention_heads=max(1, options.width // 32), tie_word_embeddings=True,
                    max_position_embeddings=corpus.longest_prompt() + MOST_WORDS + 1,
                    pad_token_id=0, eos_token_id=1, bos_token_id=None))  # fmt: skip


def check_tokenizer(folder: Path, tokenizer) -> None:
    """A model of other words would read nonsense, so it is refused."""
    found = type(tokenizer).from_pretrained(folder)
    if found.get_vocab() != tokenizer.get_vocab():
        raise SystemExit(f"{folder}: its {len(found)} words are not the {len(tokenizer)} of this "
                         "data: name another --out, or the data it was trained on")  # fmt: skip


def copy_kernels(folder: Path, corpus: Corpus, tokenizer, options, seed: int) -> Path:
    """Stage 1: a model that writes kernels as they are recorded. Returns its folder."""
    done = folder / "stage1"
    if (done / "config.json").exists():
        check_tokenizer(done, tokenizer)
        return done
    torch.manual_seed(seed)

    def collate(rows):
        texts = [f"{prompt} {text} {END}" for prompt, text in rows]
        batch = tokenizer(texts, return_tensors="pt", padding=True, padding_side="right",
                          return_token_type_ids=False)  # fmt: skip
        labels = batch["input_ids"].masked_fill(batch["attention_mask"] == 0, -100)
        for row, (prompt, _) in enumerate(rows):
            labels[row, : len(prompt.split())] = -100  # the question is given
        return {**batch, "labels": labels}

    steps, batch = options.stage1_steps, options.stage1_batch
    trainer = Trainer(
        new_model(tokenizer, corpus, options), train_dataset=Draws(corpus, steps * batch, seed),
        data_collator=collate, callbacks=[StopAt(options.deadline)],
        args=TrainingArguments(
            output_dir=str(folder / "copying"), seed=seed, max_steps=steps,
            per_device_train_batch_size=batch, learning_rate=options.stage1_rate,
            lr_scheduler_type="cosine", warmup_steps=steps // 20, weight_decay=0.01,
            logging_steps=20, save_steps=200, save_total_limit=1, remove_unused_columns=False,
            report_to=[], disable_tqdm=True, use_cpu=not options.gpu))  # fmt: skip
    if steps:
        run(trainer, folder, steps)
    trainer.model.save_pretrained(done)
    tokenizer.save_pretrained(done)
    return done


def only_new(reward):
    """The reward function, which pays nothing for a kernel that the prompt shows."""

    async def paid(prompts, completions, shown, log_metric=None, **rest):
        rewards = await reward(prompts=prompts, completions=completions, log_metric=log_metric,
                               **rest)  # fmt: skip
        copied = [text in seen for text, seen in zip(completions, shown)]
        if log_metric is not None:
            log_metric("copied", sum(copied) / len(copied))
        return [COPIED if copy else value for copy, value in zip(copied, rewards)]

    return paid


def learn_from_rewards(folder: Path, start: Path, corpus: Corpus, tokenizer, judge, options, seed):
    """Stage 3's form of RL on the spaces of the training. Returns the trained model's folder."""
    done = folder / "model"
    if (done / "config.json").exists():
        return done
    count = options.steps * options.prompts
    rows = corpus.questions(count, options.rows_in_rl, random.Random(seed))
    torch.manual_seed(seed)
    shared = dict(
        output_dir=str(folder / "learning"), seed=seed, max_steps=options.steps,
        learning_rate=options.rate, lr_scheduler_type="constant_with_warmup", warmup_steps=5,
        per_device_train_batch_size=options.group * options.prompts, beta=options.beta,
        num_generations=options.group, max_completion_length=MOST_WORDS, logging_steps=1,
        report_to=[], use_cpu=not options.gpu, bf16=False, save_steps=5, save_total_limit=1,
        disable_tqdm=True, shuffle_dataset=False, gradient_checkpointing=False)  # fmt: skip
    if options.advantage == "leave-one-out":
        kind, settings = RLOOTrainer, RLOOConfig(**shared)
    else:
        kind, settings = GRPOTrainer, GRPOConfig(loss_type="grpo", **shared)
    trainer = kind(
        str(start), processing_class=tokenizer, args=settings, train_dataset=Dataset.from_list(rows),
        reward_funcs=only_new(reward_function(judge)),
        callbacks=[StopAt(options.deadline - options.finish), *options.callbacks])  # fmt: skip
    run(trainer, folder, 0 if options.finish else options.steps)
    trainer.model.save_pretrained(done)
    tokenizer.save_pretrained(done)
    return done
