#!/usr/bin/env bash
# Several tunings at once on one store of a PostgreSQL server, one of them killed again and again,
# find what each finds alone on a file.
# shellcheck source=tests/program/prelude.sh
source "$(dirname "${BASH_SOURCE[0]}")/prelude.sh"

status=0
server=$("$checkout/tests/postgres_server" start $$) || status=$?
((status == 0)) || exit "$status" # 77: there is no server to test with
shared="postgresql://warpsmith@/postgres?host=$server"

tune=("$program" hgemm tune --device recorded --budget evals=40 --finalists 1 --quiet)
declare -A shape=([first]=64x64x64 [second]=128x128x128 [third]=512x512x512)

# tune_it --run|--resume RUN STORE
tune_it() { "${tune[@]}" --shapes "${shape[$2]}" --store "$3" "$1" "$2" >"$2.out" 2>&1; }

killed_and_resumed() {
  local child round how found
  "${tune[@]}" --shapes "${shape[third]}" --store "$shared" --run third >third.out 2>&1 &
  child=$!
  for round in 1 2 3; do
    sleep "0.$((round * 3))"
    kill -KILL "$child" 2>/dev/null || true
    wait "$child" 2>/dev/null || true
    # Killed before it began, there is nothing to go on with yet.
    how=--resume
    found=$("$program" report third --store "$shared" 2>&1) || true
    [[ $found != *"no run named"* && $found != *"there is no store"* ]] || how=--run
    "${tune[@]}" --shapes "${shape[third]}" --store "$shared" "$how" third >third.out 2>&1 &
    child=$!
  done
  wait "$child"
}

tune_it --run first "$shared" &
first=$!
tune_it --run second "$shared" &
second=$!
killed_and_resumed || expected "the third tuning to end well, not: $(cat third.out)"
wait "$first" || expected "the first tuning to end well, not: $(cat first.out)"
wait "$second" || expected "the second tuning to end well, not: $(cat second.out)"

for run in first second third; do
  tune_it --run "$run" "$run.db" || expected "$run to end well on a file"
  for where_kind in server file; do
    where=$shared
    [[ $where_kind == server ]] || where=$run.db
    expect_status 0 "$program" export "$run/${shape[$run]}" --store "$where" -o "best.$where_kind" --force
    expect_status 0 "$program" report "$run" --store "$where" --json
    PYTHONPATH=$checkout/tests/reliability python3 -c \
      'import program, sys; print(program.without_times(sys.argv[1]))' "$output" >"report.$where_kind"
  done
  diff -r best.server best.file || expected "$run to find the same on a server and on a file"
  diff report.server report.file || expected "$run to report the same on a server and on a file"
done

expect_status 0 "$program" store check "$shared"
expect_status 2 "$program" store repair "$shared" -o fresh.db
# A run's command line is kept and shown; the place of the store is not.
expect_status 0 "$program" report first --store "$shared" --json
[[ $output != *"$server"* ]] || expected "no address of a server in a report"

# The server goes away: one line that says so; it comes back: nothing is lost.
"$checkout/tests/postgres_server" stop "$server"
expect_status 69 "$program" report first --store "$shared"
[[ $output == *"cannot open store postgresql://"* ]] || expected "the store's name, not: $output"
"$checkout/tests/postgres_server" again "$server"
expect_status 0 "$program" report first --store "$shared"

# The knowledge base is on the same server.
expect_status 0 "$program" kb import "$checkout/data/knowledge/seed.jsonl" --knowledge "$shared"
expect_status 0 "$program" kb verify --knowledge "$shared"
expect_status 66 "$program" report first --store "postgresql://warpsmith@/template1?host=$server"
