#!/usr/bin/env bash
# verl 0.9.1 (vllm 0.11): GRPO or leave-one-out on many GPUs, rewards of `warpsmith serve`.
#
#   MODEL=Qwen/Qwen2.5-Coder-7B-Instruct TRAIN=train.jsonl HELD_OUT=held.jsonl \
#     JUDGE=http://judge:8321 examples/train/verl.sh [KEY=VALUE...]
#
# Rows: prompts.py writes them (JSON lines or Parquet: prompt as chat messages, data_source,
# reward_model.ground_truth = TASK or TASK#WORKLOAD). For a model of 70B or more add ENGINE=megatron
# NODES=8. Stopped, the same command goes on from its last checkpoint.
# `algorithm.adv_estimator=rloo` is the leave-one-out baseline.
set -euo pipefail
checkout=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
export PYTHONPATH=$checkout/python${PYTHONPATH:+:$PYTHONPATH}
: "${MODEL:?folder or name of a model}" "${TRAIN:?rows to train on}" "${HELD_OUT:?rows to test on}"
: "${JUDGE:?address of warpsmith serve}" "${NODES:=1}" "${GPUS:=8}" "${OUT:=checkpoints/verl}"

engine=(actor_rollout_ref.actor.strategy=fsdp2)
parallel=2
if [[ ${ENGINE:-fsdp} == megatron ]]; then
  engine=(model_engine=megatron actor_rollout_ref.actor.megatron.tensor_model_parallel_size=8
    actor_rollout_ref.actor.megatron.pipeline_model_parallel_size=2
    actor_rollout_ref.ref.megatron.tensor_model_parallel_size=8
    actor_rollout_ref.ref.megatron.pipeline_model_parallel_size=2)
  parallel=8
fi

# A judge is patient (150 s) and says "ask again": reward.timeout lies above, or verl scores 0.
exec "${PYTHON:-python3}" -m verl.trainer.main_ppo "${engine[@]}" \
  algorithm.adv_estimator=grpo algorithm.use_kl_in_reward=False \
  algorithm.rollout_correction.rollout_is=token algorithm.rollout_correction.rollout_is_threshold=2.0 \
  data.train_files="$TRAIN" data.val_files="$HELD_OUT" data.train_batch_size=64 \
  data.max_prompt_length=16384 data.max_response_length=8192 data.filter_overlong_prompts=True \
  actor_rollout_ref.model.path="$MODEL" \
  actor_rollout_ref.model.enable_gradient_checkpointing=True \
  actor_rollout_ref.actor.optim.lr=1e-6 actor_rollout_ref.actor.ppo_mini_batch_size=64 \
  actor_rollout_ref.actor.use_dynamic_bsz=True \
  actor_rollout_ref.actor.ppo_max_token_len_per_gpu=24576 \
  actor_rollout_ref.actor.use_kl_loss=True actor_rollout_ref.actor.kl_loss_coef=0.001 \
  actor_rollout_ref.actor.kl_loss_type=low_var_kl \
  actor_rollout_ref.rollout.name=vllm actor_rollout_ref.rollout.n=16 \
  actor_rollout_ref.rollout.tensor_model_parallel_size=$parallel \
  actor_rollout_ref.rollout.gpu_memory_utilization=0.6 \
  reward.custom_reward_function.path=pkg://warpsmith_rewards.verl \
  reward.custom_reward_function.name=compute_score \
  +reward.custom_reward_function.reward_kwargs.url="$JUDGE" \
  reward.reward_manager.name=naive \
  trainer.nnodes="$NODES" trainer.n_gpus_per_node="$GPUS" trainer.default_local_dir="$OUT" \
  trainer.save_freq=10 trainer.max_actor_ckpt_to_keep=2 trainer.resume_mode=auto \
  trainer.test_freq=10 trainer.val_before_train=True trainer.total_epochs=5 \
  trainer.logger='["console"]' "$@"
