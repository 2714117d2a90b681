#!/usr/bin/env bash
# OpenRLHF 0.11.2 (ray 2.55.0, vllm 0.11): GRPO on many GPUs, rewards of `warpsmith serve`.
#
#   MODEL=Qwen/Qwen2.5-Coder-7B-Instruct TRAIN=train.jsonl \
#     JUDGE=http://judge:8321/t/TOKEN/get_reward examples/train/openrlhf.sh [--OPTION VALUE...]
#
# Rows: prompts.py writes them (prompt, and label = TASK or TASK#WORKLOAD). OpenRLHF sends no header,
# so the token is part of the address. Stopped, the same command goes on from its last checkpoint. A
# model of 70B or more: GPUS=8 NODES=8 and --ds.tensor_parallel_size 8.
# `--algo.advantage.estimator rloo`: leave-one-out.
set -euo pipefail
: "${MODEL:?folder or name of a model}" "${TRAIN:?rows to train on}" "${JUDGE:?address of get_reward}"
: "${NODES:=1}" "${GPUS:=8}" "${OUT:=checkpoints/openrlhf}"

exec "${PYTHON:-python3}" -m openrlhf.cli.train_ppo_ray \
  --train.colocate_all --vllm.enable_sleep --ds.enable_sleep \
  --actor.num_nodes "$NODES" --actor.num_gpus_per_node "$GPUS" \
  --ref.num_nodes "$NODES" --ref.num_gpus_per_node "$GPUS" \
  --vllm.num_engines $((NODES * GPUS / 2)) --vllm.tensor_parallel_size 2 \
  --vllm.gpu_memory_utilization 0.6 --vllm.sync_backend nccl \
  --actor.model_name_or_path "$MODEL" --reward.remote_url "$JUDGE" \
  --data.prompt_dataset "$TRAIN" --data.input_key prompt --data.label_key label \
  --data.apply_chat_template --data.max_len 24576 --rollout.max_new_tokens 8192 \
  --rollout.batch_size 64 --rollout.n_samples_per_prompt 16 --rollout.micro_batch_size 4 \
  --train.batch_size 1024 --train.micro_batch_size 2 --train.num_episodes 5 --train.max_epochs 1 \
  --algo.advantage.estimator group_norm \
  --algo.kl.use_loss --algo.kl.estimator k3 --algo.kl.init_coef 0.001 \
  --algo.advantage.is_correction_level token --algo.advantage.is_correction_mode clip \
  --actor.adam.lr 1e-6 --ds.zero_stage 3 --ds.param_dtype bf16 --actor.gradient_checkpointing_enable \
  --ckpt.path "$OUT" --ckpt.output_dir "$OUT/final" --ckpt.save_steps 10 --ckpt.max_num 2 \
  --ckpt.load_enable --ckpt.save_hf --logger.logging_steps 1 "$@"
