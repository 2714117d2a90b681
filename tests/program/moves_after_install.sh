#!/usr/bin/env bash
# `cmake --install` gives a folder that can be moved, and is complete: the program finds its data
# there and not in the checkout. The target that ./demo builds holds all that is installed.
# shellcheck source=tests/program/prelude.sh disable=SC1091
source "$(dirname "$0")/prelude.sh" "$@"
build=$4

cmake --install "$build" --prefix "$folder/first" >install.log || expected "cmake --install to work"
mv first moved
expect_status 0 moved/bin/warpsmith doctor
[[ $output == *"ok   recordings     $folder/moved/share/warpsmith/data/recordings"* ]] ||
  expected "doctor to find recordings in $folder/moved, found: $output"
for file in share/doc/warpsmith/LICENSE share/warpsmith/docs/architecture.md \
  share/warpsmith/skills/warpsmith/SKILL.md \
  share/bash-completion/completions/warpsmith share/man/man1/warpsmith.1; do
  [[ -s moved/$file ]] || expected "$file in the installation"
done
page=$(<moved/share/man/man1/warpsmith.1)
[[ $page == .TH\ WARPSMITH* && $page == *".SS warpsmith hgemm tune"* && $page == *'\-\-budget'* ]] ||
  expected "a manual page with every command and its options"
! command -v mandoc >/dev/null || mandoc -T lint -W error moved/share/man/man1/warpsmith.1 ||
  expected "a manual page that mandoc takes"

commands=$(ninja -C "$build" -t commands product)
for command in "-o bin/warpsmith" "-o lib/libwarpsmith_gemm.so" "completion bash" "completion zsh" \
  "completion fish" "warpsmith man"; do
  [[ $commands == *"$command"* ]] || expected "'$command' among what builds the target product"
done
