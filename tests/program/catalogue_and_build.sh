#!/usr/bin/env bash
# From a tuning (replayed) to the library's pack: a catalogue is made, explained, merged, checked and
# built; what is no catalogue is refused in one line.
# shellcheck source=tests/program/prelude.sh disable=SC1091
source "$(dirname "$0")/prelude.sh" "$@"

expect_status 0 "$program" hgemm tune --shapes 64x64x64,8192x8192x64 --device recorded --quiet \
  --budget evals=12 --finalists 1 --store s.db
expect_status 0 "$program" hgemm catalogue make --store s.db --out c.csv
[[ $(head -1 c.csv) == '# warpsmith hgemm catalogue, version 1' ]] || expected "a first line"
[[ $(grep -c '^[0-9]' c.csv) == 2 ]] || expected "two rows, found: $(cat c.csv)"
grep -q '^64,64,64,TN,f16,NVIDIA H200,kernel,' c.csv || expected "a kernel for 64x64x64"

expect_status 0 "$program" hgemm show 64x64x64 --device recorded --catalogue c.csv --top 1
[[ $output == *'64x64x64-TN f16 NVIDIA H200: '*'cublaslt-auto'*'candidate '* ]] ||
  expected "the row's evidence, found: $output"
expect_status 0 "$program" hgemm show 64x64x64 --device recorded --catalogue c.csv --json
[[ $output == *'"choice": "kernel"'* ]] || expected "the choice in JSON"

# A shape that is neither catalogued nor recorded: that it was not measured, and what the library's
# rules say of it.
expect_status 0 "$program" hgemm show 96x96x128 --device recorded
[[ $output == '96x96x128-TN f16: not measured in the catalogue; a guess of the cost model'*'64x128x128 ('*': '*' '* ]] ||
  expected "the rule for such shapes, found: $output"
expect_status 0 "$program" hgemm show 1000x1000x1000 --device recorded --catalogue c.csv --json
[[ $output == *'"library": "1000x1000x1000-TN f16: not measured in the catalogue, 1.0e+09 multiply-adds are above 2^27'* ]] || expected "cuBLASLt, found: $output"

# Without --catalogue the shipped one of the layout and the type answers.
for kind in 'nn --layout NN' 'bf16 --dtype bf16' 'offgrid --layout TN'; do
  file=catalogue_${kind%% *}.csv
  shape=$(grep -m 1 '^[0-9]' "$(dirname "$0")/../../data/hgemm/$file" | cut -d, -f1-3 | tr , x)
  # shellcheck disable=SC2086
  expect_status 0 "$program" hgemm show "$shape" ${kind#* } --device recorded
  [[ $output == "$shape-"*'cublaslt'*'by '*"$file, which 'warpsmith hgemm build --catalogue "* ]] || expected "the row of $shape, found: $output"
done
# Of the shipped one also what its passes say together; where cuBLASLt is the choice, no pack is named.
expect_status 0 "$program" hgemm show 128x4096x4096 16384x16384x16384 --device recorded
[[ $output == *'device       1.160 ['*'without launch overlap'*'device: CUDA graph'*'hgemm build --out'*$'\n16384x16384x16384-TN'* ]] ||
  expected "the mean of the passes, and both shapes, found: $output"
[[ ${output##*16384x16384x16384-TN} != *'hgemm build'* ]] || expected "no pack for cuBLASLt: $output"
expect_status 0 "$program" hgemm show 128x4096x4096 --device recorded --json
[[ $output == *'"passes": 3'* ]] || expected "the passes in JSON, found: $output"
# Of several shapes one document, of which each entry is what --json says of that shape alone.
expect_status 0 "$program" hgemm show 64x64x64 96x96x128 --device recorded --json
[[ $output == *'"schema": "warpsmith.shapes"'* ]] || expected "a document of shapes, found: $output"
[[ $output == *'"shape": "64x64x64"'*'"library": "96x96x128-TN f16: not measured'*'"shape": "96x96x128"'* ]] ||
  expected "both shapes, found: $output"

# A catalogue tells of its rows, so that none that was cut or changed is taken.
sed '$d' c.csv >cut.csv
expect_status 65 "$program" hgemm catalogue check cut.csv
[[ $output == *'not what was written: it has 1 rows'* && $output != *$'\n'* ]] ||
  expected "one line that says what is missing, found: $output"
sed 2d c.csv >open.csv
expect_status 65 "$program" hgemm catalogue check open.csv
[[ $output == *"lacks the line '# N rows, sha256 ...'"* && $output != *$'\n'* ]] ||
  expected "one line that says what is missing, found: $output"
[[ $(told <open.csv) == "$(cat c.csv)" ]] || expected "the line that the program writes"

sed $'s/nvrtc/\e[2J/' open.csv | told >escape.csv
expect_status 0 "$program" hgemm show 64x64x64 --device recorded --catalogue escape.csv --top 1
[[ $output == *', ?[2J 1'* ]] || expected "the toolkit as text, found: $output"

expect_status 0 "$program" hgemm catalogue merge c.csv c.csv --out again.csv --json
[[ $output == *'"rows": 2'*'"rows_read": 4'* ]] || expected "a document, found: $output"
expect_status 0 "$program" hgemm catalogue merge c.csv c.csv --out - --quiet
[[ $output == "$(cat c.csv)" ]] || expected "a catalogue merged with itself to be itself"
expect_status 0 "$program" hgemm catalogue check c.csv
[[ $output == 'c.csv: 2 rows, '* ]] || expected "a count, found: $output"

expect_status 0 "$program" hgemm catalogue page c.csv --html c.html
[[ $output == '2 shapes in c.html' ]] || expected "a count, found: $output"
grep -q '"sizes":\[64,64,64\]' c.html || expected "the shape in the page's data"
if grep -qE '(src|href)="' c.html; then expected "a page that needs nothing else"; fi

expect_status 74 "$program" hgemm catalogue make --store s.db --out /nowhere/c.csv
expect_status 74 "$program" hgemm catalogue page c.csv --html /nowhere/c.html
expect_status 2 "$program" hgemm catalogue page c.csv
expect_status 66 "$program" hgemm catalogue page c.csv --bench none.csv --html c.html
expect_status 65 "$program" hgemm catalogue page c.csv --bench c.csv --html c.html
[[ $output == *'c.csv:1: '* && $output != *$'\n'* ]] || expected "one line, found: $output"
sed 2q open.csv | told >empty.csv
expect_status 72 "$program" hgemm catalogue page empty.csv --html c.html
expect_status 66 "$program" hgemm catalogue check none.csv
sed 's/,TN,/,TT,/' open.csv >broken.csv
expect_status 65 "$program" hgemm catalogue check broken.csv
[[ $output == *'broken.csv:3: layout: expected NN or TN'* && $output != *$'\n'* ]] ||
  expected "one line that names line and field, found: $output"
sed 's/warp_m=[0-9]*/warp_m=0/' open.csv | told >no_kernel.csv
expect_status 0 "$program" hgemm catalogue check no_kernel.csv
[[ $output == *'1 are not known here'* ]] || expected "no division by zero, found: $output"
sed 's/,kernel,tiny [^,]*,/,kernel,mma_sync warps_m=1,/' open.csv | told >no_tile.csv
expect_status 0 "$program" hgemm catalogue check no_tile.csv
[[ $output == *'1 are not known here'* ]] || expected "no division by zero, found: $output"
sed '1s/1$/9/' c.csv >newer.csv
expect_status 76 "$program" hgemm catalogue check newer.csv
expect_status 65 "$program" hgemm build --catalogue "$program" --out lib
expect_status 65 "$program" hgemm build --catalogue c.csv --arch sm_80 --out lib
expect_status 65 "$program" hgemm build --catalogue c.csv --shapes 1x2x3 --out lib
[[ $output == *'says nothing of the shapes: 1x2x3-TN f16: not measured'* ]] ||
  expected "the shape of which nothing is known, found: $output"

# Needs NVRTC; doctor says whether it is here.
"$program" doctor | grep -q 'ok *NVRTC' || exit 0
expect_status 0 "$program" hgemm build --catalogue c.csv --out lib
[[ $output == *' 2 rows packed, 2 with a kernel (2 different)'* ]] || expected "what was built, found: $output"
[[ $(head -1 -z lib/gemm.wspack | head -1) == 'warpsmith gemm pack, version 1'* ]] ||
  expected "a pack"
cp lib/gemm.wspack first.wspack
expect_status 0 "$program" hgemm build --catalogue c.csv --shapes 64x64x64 --out some
[[ $output == *' your shapes, in each layout and type of the catalogue: 1 measured, 0 guessed, 0 cuBLASLt; 1 row packed, 1 with a kernel (1 different)'* ]] ||
  expected "the named shape, found: $output"
# A shape without a row gets what `show` says of it; one of which nothing is known stops no other.
expect_status 0 "$program" hgemm show 96x96x128 --device recorded
said=${output%%$'\n'*}
expect_status 0 "$program" hgemm build --shapes 96x96x128,1x2x3 --out near
[[ $output == *' your shapes, in each layout and type of the catalogue: 0 measured, 1 guessed, 1 cuBLASLt; '*"$said"*'1x2x3-TN f16: '*"cuBLASLt's heuristic"* ]] ||
  expected "what each shape gets, found: $output"
# A row of BF16 is a kernel of its own beside the FP16 row of its shape.
sed 's/,TN,f16,/,TN,bf16,/' open.csv | told >bf16.csv
expect_status 0 "$program" hgemm catalogue merge c.csv bf16.csv --out both.csv --quiet
expect_status 0 "$program" hgemm show 64x64x64 --dtype bf16 --device recorded --catalogue both.csv
[[ $output == *'64x64x64-TN bf16 NVIDIA H200: '* ]] || expected "the row of BF16, found: $output"
kernels() { "$program" hgemm build --catalogue "$1" --out "$2" --json | grep '"kernels"'; }
one=$(kernels c.csv one) both=$(kernels both.csv both)
((${both//[^0-9]/} == 2 * ${one//[^0-9]/})) || expected "twice the kernels: $one, $both"
expect_status 0 "$program" hgemm build --catalogue c.csv --out lib --json
[[ $output == *'"warnings": {}'* ]] || expected "nothing to warn of, found: $output"
cmp first.wspack lib/gemm.wspack || expected "the same pack again"
# Two warpgroups cannot hold a tile of 256x256 in registers.
sed 's/^\(64,.*\),kernel,[^,]*,/\1,kernel,wgmma consumers=2 stages=2 tile_k=64 tile_m=256 tile_n=256,/' open.csv | told >spilling.csv
expect_status 0 "$program" hgemm build --catalogue spilling.csv --out spilling
[[ $output == *'of the kernels: registers spill to local memory'* ]] || expected "spills, found: $output"

# What a comparison left to cuBLASLt on one device is not built because it was only tuned on another.
sed '/^[0-9]/{s/,kernel,/,cublaslt,/; s/,\(screened\|certified\),/,compared,/}' open.csv | told >decided.csv
sed 's/NVIDIA H200/NVIDIA H100/; s/,certified,/,screened,/' open.csv | told >elsewhere.csv
expect_status 0 "$program" hgemm catalogue merge decided.csv elsewhere.csv --out devices.csv --quiet
expect_status 0 "$program" hgemm build --catalogue devices.csv --out decided
[[ $output == *' 2 rows packed, 0 with a kernel (0 different)'* ]] || expected "the decision, found: $output"

# Without --catalogue the shipped one is built.
expect_status 0 "$program" hgemm build --shapes 16384x16384x16384 --out shipped
[[ $output == *$'\n16384x16384x16384-TN f16: catalogue: '*': cuBLASLt'* ]] ||
  expected "why cuBLASLt runs there, found: $output"
[[ $output == *'1 cuBLASLt; 1 row packed'*'cuBLASLt is the choice for all of them; no pack is needed'* ]] ||
  expected "that no pack is needed, found: $output"
expect_status 0 "$program" hgemm build --catalogue devices.csv --out decided
# Which cuBLASLt algorithm a pack names was found by autotuning, on that device; what is not known is
# said.
[[ $output != *heuristic* ]] || expected "the shipped choices of an H200, found: $output"
sed '2d; s/NVIDIA H200/NVIDIA H100/' decided.csv | told >untuned.csv
expect_status 0 "$program" hgemm build --catalogue untuned.csv --out untuned
[[ $output == *'2 of those with cuBLASLt run what its heuristic chooses'* ]] ||
  expected "that no algorithm is known, found: $output"
