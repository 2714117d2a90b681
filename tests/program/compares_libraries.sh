#!/usr/bin/env bash
# From a comparison with cuBLASLt to its summary and to a catalogue's choices: slices are joined, the
# guard decides by what was measured, and what does not belong together is refused in one line.
# shellcheck source=tests/program/prelude.sh disable=SC1091
source "$(dirname "$0")/prelude.sh" "$@"

expect_status 0 "$program" hgemm tune --shapes 64x64x64,8192x8192x64 --device recorded --quiet \
  --budget evals=12 --finalists 1 --store s.db
expect_status 0 "$program" hgemm catalogue make --store s.db --out c.csv
hash=$(sed 2d c.csv | sha256sum) hash=${hash%% *}

# comparison LIBRARY_HASH SHAPE RATIO: what a bench of one shape writes, as fast in every mode.
comparison() {
  printf '%s\n' '# warpsmith hgemm comparison, version 1' '# device: NVIDIA H200' '# layout: TN' \
    '# dtype: f16' "# library: libmine.so $1" '# pack: none' "# catalogue: $hash" \
    '# protocol: j1/screened/r7' \
    m,n,k,layout,dtype,mode,choice,kernel_us,ours_us,lt_auto_us,ratio_kernel,lo_kernel,hi_kernel,ratio,lo,hi,floor_us \
    '# session: date=2026-11-22T01:00:00Z; driver=580.1; toolkit=nvrtc 13.0; baseline=cuBLASLt 13.1.0; program=0.1.0'
  local mode
  for mode in device device-cold offline server; do
    printf '%s,TN,f16,%s,cublaslt,2,2,2,%s,%s,%s,1,0.999,1.001,0.1\n' "$2" "$mode" "$3" "$3" "$3"
  done
}
comparison 1 64,64,64 1.25 >one.csv
comparison 1 8192,8192,64 0.98 >two.csv

expect_status 0 "$program" hgemm bench --from one.csv two.csv
[[ $output == *'mode device-cold'* && $output == *'kernel alone'*'8192x8192x64'* ]] ||
  expected "each mode's classes, found: $output"
expect_status 0 "$program" hgemm bench --from one.csv two.csv --json
[[ $output == *'"by_log2_mnk"'* ]] || expected "the summary in JSON"
expect_status 0 "$program" hgemm bench --from one.csv --markdown
[[ $output == *'| tiny | library | 1 | 1.000 |'* ]] || expected "Markdown, found: $output"
expect_status 2 "$program" hgemm bench --markdown

expect_status 0 "$program" hgemm catalogue guard c.csv --bench one.csv two.csv --out guarded.csv
[[ $output == '2 rows decided: '* ]] || expected "counts, found: $output"
grep -q '^64,64,64,TN,f16,NVIDIA H200,kernel,.*,compared,2026-11-22T01:00:00Z$' guarded.csv ||
  expected "the measured level, found: $(cat guarded.csv)"
grep -q '^8192,8192,64,TN,f16,NVIDIA H200,cublaslt,' guarded.csv ||
  expected "cuBLASLt where the kernel was measured to be slower"
expect_status 0 "$program" hgemm show 8192x8192x64 --device recorded --catalogue guarded.csv --top 1
[[ $output == *'left out; the rule: beside '*' a mean ratio of at least 1'* ]] || expected "why, found: $output"

expect_status 0 "$program" hgemm catalogue guard c.csv --bench one.csv two.csv --out again.csv --json
[[ $output == *'"decided": 2'* && $output != *'rows decided'* ]] ||
  expected "a document and no words beside it, found: $output"

expect_status 0 "$program" hgemm catalogue guard c.csv --bench one.csv --strict --out -
[[ $output == *'1 rows were not compared and are cuBLASLt'* ]] || expected "strictness: $output"

# By what rows hold, whatever they chose.
sed '2d; s/,NVIDIA H200,kernel,/,NVIDIA H200,cublaslt,/' guarded.csv | told >other.csv
expect_status 0 "$program" hgemm catalogue guard other.csv --out anew.csv
[[ $output == 'by the results that 2 rows hold: 1 are kernels now'* ]] || expected "counts, found: $output"
cmp -s anew.csv guarded.csv || expected "the guard's choices, found: $(cat anew.csv)"
expect_status 72 "$program" hgemm catalogue guard c.csv --out -
[[ $output == *'c.csv: no row was compared'* ]] || expected "nothing to choose by, found: $output"

# What was decided stays in a merge with the flattered rows that it was decided about.
expect_status 0 "$program" hgemm catalogue merge c.csv guarded.csv --out merged.csv
[[ $output == *'2 of them were chosen by a comparison'* ]] || expected "a count, found: $output"
cmp -s merged.csv guarded.csv || expected "the guard's decisions, found: $(cat merged.csv)"

# A page of the catalogue has the comparison's ratios, and refuses those of another device.
expect_status 0 "$program" hgemm catalogue page c.csv --bench one.csv two.csv --html c.html --quiet
grep -q '"library":{"device":\[.*"server":\[' c.html || expected "the library in every mode"
grep -q '"device":\[0.98,.*"sizes":\[8192,8192,64\]' c.html || expected "the loss in the page's data"
sed 's/^# device: .*/# device: another/' one.csv >elsewhere.csv
expect_status 65 "$program" hgemm catalogue page c.csv --bench elsewhere.csv --html c.html
[[ $output == *"none of the catalogue's shapes"*'on another'* && $output != *$'\n'* ]] ||
  expected "one line that says why, found: $output"

# A name from a file moves no cursor.
sed $'s/^# device: .*/# device: \e[2Jnone/' one.csv >escape.csv
expect_status 0 "$program" hgemm bench --from escape.csv
[[ $output == '?[2Jnone, TN f16'* ]] || expected "the device as text, found: $output"

# A writer that was killed inside the second shape's rows: the first one counts.
cat one.csv <(tail -4 two.csv | head -2) >torn.csv
expect_status 0 "$program" hgemm bench --from torn.csv
[[ $output == *'torn.csv: its end is torn; the 1 shapes before it'* ]] || expected "a note"
expect_status 65 "$program" hgemm bench --from one.csv one.csv
[[ $output == *'64x64x64 stands in a file before it'* ]] || expected "the shape, found: $output"
comparison 2 128,64,64 1 >other.csv
expect_status 65 "$program" hgemm bench --from one.csv other.csv
[[ $output == *'other.csv: of another comparison than one.csv: another library'* &&
  $output != *$'\n'* ]] || expected "one line that says what differs, found: $output"
expect_status 65 "$program" hgemm catalogue guard guarded.csv --bench one.csv --out -
[[ $output == *'not of this catalogue'* ]] || expected "the comparison's own catalogue"
sed 's/,offline,/,sometimes,/' one.csv >broken.csv
expect_status 65 "$program" hgemm bench --from broken.csv
[[ $output == *"broken.csv:13: no mode 'sometimes'"* ]] || expected "line and cell: $output"
expect_status 65 "$program" hgemm bench --from c.csv
expect_status 66 "$program" hgemm bench --from none.csv
expect_status 66 "$program" hgemm bench --from one.csv --csv joined.csv
[[ $output == *'one.samples.csv.zst'* ]] || expected "the samples' file that is missing"

expect_status 78 "$program" hgemm bench --from one.csv --csv two.csv
[[ $output == *'two.csv is there already'* ]] || expected "no file to be replaced, found: $output"
expect_status 78 "$program" hgemm bench --csv two.csv --device recorded
[[ $output == *'two.csv holds a comparison'* ]] || expected "no table to be lost, found: $output"

# The libraries alone: the same command goes on, and takes no other file's place.
expect_status 0 "$program" hgemm bench --device recorded --shapes 64x64x64 --csv libraries.csv
expect_status 0 "$program" hgemm bench --device recorded --shapes 64x64x64,512x512x512 --csv libraries.csv
[[ $(grep -c '^64,64,64,cublaslt-auto,max,f16,device,' libraries.csv) == 1 &&
  $(grep -c '^512,512,512,cublaslt-auto,max,f16,device,' libraries.csv) == 1 ]] ||
  expected "each shape once, found: $(cat libraries.csv)"
[[ -s libraries.samples.csv.zst ]] || expected "samples beside the table"
expect_status 65 "$program" hgemm bench --device recorded --dtype bf16 --shapes 64x64x64 --csv libraries.csv
expect_status 65 "$program" hgemm bench --device recorded --shapes 64x64x64 --csv c.csv
expect_status 69 "$program" hgemm bench --device recorded --shapes 64x64x64 --paper-protocol
expect_status 2 "$program" hgemm bench --against lib.so --paper-protocol

head -9 one.csv >head.csv
expect_status 72 "$program" hgemm bench --from head.csv
expect_status 72 "$program" hgemm catalogue guard c.csv --bench head.csv --strict --out -

# Measuring needs a GPU; without one the file is not touched.
expect_status 69 "$program" hgemm bench --against /lib/x86_64-linux-gnu/libm.so.6 --csv one.csv \
  --device recorded
expect_status 66 "$program" hgemm bench --against ./none.so --device recorded
