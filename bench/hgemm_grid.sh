#!/usr/bin/env bash
# The whole grid on all GPUs of a machine: tuned, compared kernel by kernel, guarded, and the library
# compared on fresh data. The last file, table.md, is the table.
#
#   bench/hgemm_grid.sh FOLDER [--max-seconds S] [--gpus "0 1"] [--per-gpu N] [--shapes LIST]
#                       [--layout NN|TN] [--dtype f16|bf16] [--near CATALOGUE] [--evals N]
#
# FOLDER keeps everything, cuBLASLt's choices too. After --max-seconds, Ctrl-C or a crash the same
# command goes on where it stopped (exit status 3: there is more to do), also on another machine
# with GPUs of the same kind, where FOLDER is brought along.
#
#   --gpus      default: all that nvidia-smi lists
#   --per-gpu   processes a GPU, which measure by turns: one compiles while the other measures (2)
#   --near      tune from this catalogue's kernels: 8 evaluations a shape, if --evals says no other
#
# Environment: WARPSMITH, WARPSMITH_GEMM_LIBRARY: the program and the library; default: those of
# build/release.
set -euo pipefail

checkout=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
warpsmith=${WARPSMITH:-$checkout/build/release/bin/warpsmith}
library=${WARPSMITH_GEMM_LIBRARY:-$checkout/build/release/lib/libwarpsmith_gemm.so}

fail() {
  printf 'hgemm_grid.sh: %s\n' "$1" >&2
  exit 2
}

seconds=0 gpus='' per_gpu=2 shapes=paper layout=TN dtype=f16 near='' evals=''
[[ $# -ge 1 && $1 != -* ]] || fail 'name a folder first: bench/hgemm_grid.sh FOLDER [options]'
mkdir -p "$1"
folder=$(cd "$1" && pwd)
shift
while (($#)); do
  case $1 in
    --max-seconds) seconds=${2:-} ;;
    --gpus) gpus=${2:-} ;;
    --per-gpu) per_gpu=${2:-} ;;
    --shapes) shapes=${2:-} ;;
    --layout) layout=${2:-} ;;
    --dtype) dtype=${2:-} ;;
    --near) near=${2:-} ;;
    --evals) evals=${2:-} ;;
    *) fail "unknown option $1" ;;
  esac
  (($# > 1)) || fail "$1 needs a value"
  shift 2
done
[[ -z $near ]] || near=$(realpath "$near")
[[ -x $warpsmith ]] || fail "there is no program at $warpsmith (build it, or set WARPSMITH)"
[[ -f $library ]] || fail "there is no library at $library (build it, or set WARPSMITH_GEMM_LIBRARY)"
[[ -n $gpus ]] || gpus=$(nvidia-smi --query-gpu=index --format=csv,noheader | tr '\n' ' ')
read -ra gpus <<<"$gpus"
((${#gpus[@]})) || fail 'nvidia-smi lists no GPU'

cd "$folder"
export XDG_DATA_HOME=$folder/data
begun=$SECONDS
left() { # seconds; a day, where nobody said how many
  if ((seconds == 0)); then echo 86400; else echo $((seconds - (SECONDS - begun))); fi
}
limit() { # what a slice is told of that
  ((seconds == 0)) || echo "--max-seconds $(($(left) - 10))"
}
say() { printf '[%d s] %s\n' "$((SECONDS - begun))" "$*"; }

case $shapes in
  paper) count=1000 ;;
  demo) count=12 ;;
  *) count=$(tr ',' '\n' <<<"$shapes" | grep -c x) ;;
esac
# What a folder was begun with, it goes on with; comparisons with their slices, too.
what="$shapes $layout $dtype ${evals:-default} $([[ -z $near ]] || sha256sum <"$near")"
[[ -f options.txt ]] || echo "$what" >options.txt
[[ $(<options.txt) == "$what" ]] || fail "$folder was begun with other options: $(<options.txt)"
if [[ ! -f slices ]]; then
  slices=$((${#gpus[@]} * per_gpu))
  echo $((slices < count ? slices : count)) >slices
fi
slices=$(<slices)
[[ -z $near || -f near.csv ]] || cp "$near" near.csv
product=(--layout "$layout" --dtype "$dtype")
tuning=()
if [[ -f near.csv ]]; then
  tuning=(--near near.csv)
  evals=${evals:-8}
fi
[[ -z $evals ]] || tuning+=(--budget "evals=$evals")

pids=()
interrupted() {
  ((${#pids[@]} == 0)) || kill "${pids[@]}" 2>/dev/null || true
  wait
  stop 'by a signal'
}
trap interrupted INT TERM

# stage NAME FUNCTION: one process a slice. It is done when all ended well and there was time left.
stage() {
  [[ ! -e $1.done ]] || return 0
  local i failed=0
  pids=()
  (($(left) > 20)) || stop "before $1"
  say "$1"
  for ((i = 1; i <= slices; ++i)); do
    "$2" "$i" "${gpus[$(((i - 1) % ${#gpus[@]}))]}" >"$1-$i.log" 2>&1 &
    pids+=($!)
  done
  for i in "${!pids[@]}"; do
    wait "${pids[$i]}" || { failed=$? && say "slice $((i + 1)) of $1 ended with $failed: $(tail -n 1 "$1-$((i + 1)).log")"; }
  done
  ((failed == 0)) || exit 1
  pids=()
  (($(left) > 10)) || stop "in $1"
  compared "$1"
  touch "$1.done"
}
# A comparison that lacks shapes is none of the grid: four rows a shape.
compared() {
  local rows
  [[ $1 != tune ]] || return 0
  rows=$(cat "$1"-*.csv | grep -c '^[0-9]') || true  # grep's status where there is none
  ((rows == 4 * count)) ||
    { say "$1 has $rows rows of $((4 * count)): the logs $1-*.log say which shapes could not be compared; the same command tries them again" && exit 1; }
}
stop() {
  say "stopped $1: the same command goes on"
  exit 3
}

# shellcheck disable=SC2046  # limit: an option and its value, or nothing
tune() {
  "$warpsmith" hgemm tune --shapes "$shapes" "${product[@]}" --slice "$1/$slices" --run "slice-$1" \
    --store "tune-$1.db" --gpu "$2" --wait 3600 $(limit) --proposer brief --batch 4 \
    --finalists 0 "${tuning[@]}" --quiet
}
# shellcheck disable=SC2046  # limit: an option and its value, or nothing
compare() { # PACK-FOLDER CATALOGUE CSV SLICE GPU
  "$warpsmith" hgemm bench --against "$1/libwarpsmith_gemm.so" --catalogue "$2" --shapes "$shapes" \
    "${product[@]}" --slice "$4/$slices" --gpu "$5" --wait 3600 $(limit) --csv "$3-$4.csv" --quiet
}
first() { compare first none.csv first "$@"; }
second() { compare second guarded.csv second "$@"; }
tables() { # NAME: the slices' files, in order
  local i
  for ((i = 1; i <= slices; ++i)); do echo "$1-$i.csv"; done
}
install() { # FOLDER CATALOGUE: the library with this catalogue's pack
  [[ ! -f $1/warpsmith/gemm.wspack ]] || return 0
  mkdir -p "$1"
  cp -L "$library" "$1/libwarpsmith_gemm.so"
  "$warpsmith" hgemm build --catalogue "$2" --out "$1/warpsmith"
}

stage tune tune
if [[ ! -f none.csv ]]; then
  for ((i = 1; i <= slices; ++i)); do
    "$warpsmith" hgemm catalogue make --store "tune-$i.db" --out "tuned-$i.csv"
  done
  mapfile -t files < <(tables tuned)
  "$warpsmith" hgemm catalogue merge "${files[@]}" --out tuned.csv
  "$warpsmith" hgemm catalogue guard tuned.csv --strict --out none.csv
fi
install first none.csv
stage first first
if [[ ! -f guarded.csv ]]; then
  mapfile -t files < <(tables first)
  "$warpsmith" hgemm catalogue guard none.csv --bench "${files[@]}" --strict --out guarded.csv
fi
install second guarded.csv
stage second second
mapfile -t files < <(tables second)
rm -f second.csv second.samples.csv.zst
"$warpsmith" hgemm bench --from "${files[@]}" --csv second.csv --markdown >table.md
say "done: $folder/table.md, guarded.csv, second.csv"
