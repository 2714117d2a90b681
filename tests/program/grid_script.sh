#!/usr/bin/env bash
# bench/hgemm_grid.sh does its stages in order, each slice on a GPU, and goes on where it stopped.
# What it calls is played by a script that writes down how it was called.
# shellcheck source=tests/program/prelude.sh disable=SC1091
source "$(dirname "$0")/prelude.sh" "$@"

cat >stub <<'STUB'
#!/usr/bin/env bash
printf '%s\n' "$*" >>"$CALLS"
[[ ! -f $CALLS.fail || $* != *"--slice 2/4"* ]] || { echo 'slice two is broken'; exit 1; }
while (($#)); do
  case $1 in
    --out) out=$2 ;;
    --csv) csv=$2 ;;
    --from) echo '| the table |' ;;
  esac
  shift
done
if [[ ${out:-} == *.csv ]]; then echo rows >"$out"; fi
if [[ -n ${out:-} && $out != *.csv ]]; then mkdir -p "$out" && echo pack >"$out/gemm.wspack"; fi
# A slice of one shape; the second slice of the first comparison lacks it at first.
[[ ! -f $CALLS.empty ]] || exit 0
if [[ -n ${csv:-} && ! ($csv == first-2.csv && -f $CALLS.lacking) ]]; then
  for mode in device device-cold offline server; do echo "64,64,64,$mode"; done >"$csv"
fi
STUB
chmod +x stub
echo library >libwarpsmith_gemm.so
export CALLS=$folder/calls WARPSMITH=$folder/stub WARPSMITH_GEMM_LIBRARY=$folder/libwarpsmith_gemm.so
shapes=64x64x64,64x64x128,64x64x256,64x64x512
grid=("$checkout/bench/hgemm_grid.sh" grid --gpus "0 1" --shapes "$shapes" --near stub)
: >calls

expect_status 2 "$checkout/bench/hgemm_grid.sh"
expect_status 2 "${grid[@]}" --speed
[[ $output == *'unknown option --speed'* ]] || expected "the option to be named: $output"
expect_status 3 "${grid[@]}" --max-seconds 5
[[ $output == *'the same command goes on'* && ! -s calls ]] || expected "nothing in five seconds: $output"

touch calls.fail
expect_status 1 "${grid[@]}"
[[ $output == *'slice 2 of tune ended with 1: slice two is broken'* ]] || expected "the slice: $output"
rm calls.fail
: >calls
touch calls.lacking
: >grid/first-2.csv
expect_status 1 "${grid[@]}"
[[ $output == *'first has 12 rows of 16'* && ! -e grid/first.done ]] || expected "a shape to be missed: $output"
rm calls.lacking grid/tune.done grid/none.csv
rm -rf grid/first
: >calls
expect_status 0 "${grid[@]}"
[[ $(<grid/table.md) == '| the table |' ]] || expected "a table: $(<grid/table.md)"

# In order of the stages; slices of one stage in any.
order=$(sed 's/ --.*//; s/hgemm //' calls | awk '{print $1, ($1 == "catalogue" ? $2 : "")}' | uniq -c | awk '{print $1 $2 $3}' | tr '\n' ' ')
wanted='4tune 4cataloguemake 1cataloguemerge 1catalogueguard 1build 4bench 1catalogueguard 1build 5bench '
[[ $order == "$wanted" ]] || expected "'$wanted', not '$order'"
for i in 1 2 3 4; do
  gpu=$(((i - 1) % 2))
  for call in "hgemm tune --shapes $shapes --layout TN --dtype f16 --slice $i/4 .* --gpu $gpu .*--near near.csv --budget evals=8" \
    "hgemm bench --against first/.* --catalogue none.csv .*--slice $i/4 --gpu $gpu " \
    "hgemm bench --against second/.* --catalogue guarded.csv .*--slice $i/4 --gpu $gpu "; do
    grep -q -- "^$call" calls || expected "$call"
  done
done

: >calls
expect_status 0 "${grid[@]}"
[[ $(wc -l <calls) == 1 ]] || expected "nothing but the table anew: $(<calls)"

# Brought to a machine with one GPU: the same slices.
rm grid/second.done
: >calls
grid=("$checkout/bench/hgemm_grid.sh" grid --gpus 0 --shapes "$shapes" --near stub)
expect_status 0 "${grid[@]}"
[[ $(grep -c -- '--slice ./4 --gpu 0 --wait' calls) == 4 ]] || expected "four slices on GPU 0: $(<calls)"
expect_status 2 "${grid[@]}" --evals 3
[[ $output == *'was begun with other options'* ]] || expected "other options to be refused: $output"

touch calls.empty
expect_status 1 "$checkout/bench/hgemm_grid.sh" none --gpus 0 --shapes 64x64x64
[[ $output == *'first has 0 rows of 4'* ]] || expected "no row at all to be said: $output"
rm calls.empty

# No more slices than shapes.
: >calls
expect_status 0 "$checkout/bench/hgemm_grid.sh" small --gpus "0 1" --shapes 64x64x64
[[ $(grep -c '^hgemm tune' calls) == 1 ]] || expected "one slice: $(<calls)"
