# Sourced by every script here: arguments, a fresh folder, and nothing of the user's settings.
# shellcheck shell=bash disable=SC2034
set -euo pipefail

program=$1
folder=$2
checkout=$3

rm -rf "$folder"
mkdir -p "$folder"
cd "$folder"
unset "${!WARPSMITH_@}"
export HOME=$folder XDG_DATA_HOME=$folder/data XDG_CACHE_HOME=$folder/cache \
  XDG_STATE_HOME=$folder/state XDG_CONFIG_HOME=$folder/config NO_COLOR=1

expected() {
  printf 'expected: %s\n' "$*" >&2
  exit 1
}

# Runs "$@", keeps its output in `output`, and expects the exit status $1.
expect_status() {
  local wanted=$1 status=0
  shift
  output=$("$@" 2>&1) || status=$?
  [[ $status == "$wanted" ]] || {
    printf '%s\n' "$output" >&2
    expected "'$*' to exit with $wanted, not $status"
  }
}

# From the catalogue on stdin, which was changed by hand, to one that tells of its rows.
told() {
  local text rows
  text=$(cat) rows=$(grep -v '^#' <<<"$text")
  printf '%s\n# %d rows, sha256 %s\n%s\n' "$(head -1 <<<"$text")" "$(($(wc -l <<<"$rows") - 1))" \
    "$(sha256sum <<<"$rows" | cut -d' ' -f1)" "$rows"
}
