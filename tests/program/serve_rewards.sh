#!/usr/bin/env bash
# serve: rewards and jobs over HTTP on recorded measurements, hostile clients, the end in peace, and
# kills without warning that lose nothing.
# shellcheck source=tests/program/prelude.sh disable=SC1091
source "$(dirname "$0")/prelude.sh" "$@"

expect_status 2 "$program" serve --listen 0.0.0.0:0
printf 'short' > token
expect_status 65 "$program" serve --token-file token
python=$(command -v python3) || { printf 'skipped: no python3\n' && exit 0; }

# What the tutorial's second part and serve.md paste gives what they show.
port=$("$python" -c 'import socket; print(socket.create_server(("127.0.0.1", 0)).getsockname()[1])')
ln -s "$checkout"/{docs,python,tasks} .
{
  sed -n '/^## 2/,/^## 3/{/^    /p;/^```sh/,/^kill/{/^```\|^kill/!p}}' docs/tutorial.md
  sed -n '/^````sh/,/^````$/{/^````/!p};$akill %1' docs/serve.md
} | sed "s/8321/$port/;s/warpsmith serve/& --device recorded --listen 127.0.0.1:$port/" >pasted.sh
# shellcheck disable=SC2329
curl() {  # as the page calls it: not every machine has one
  "$python" -c 'import sys, urllib.request as ask
print(ask.urlopen("http://" + sys.argv[2], open(sys.argv[4][1:], "rb").read()).read().decode())' "$@"
}
export -f curl && export python
PATH=$(dirname "$program"):$PATH bash pasted.sh >shown.txt 2>said.txt
for shown in "$(grep '^1.*passed' docs/tutorial.md)" "$(grep '^"outcome"' docs/serve.md)"; do
  grep -qF -- "$shown" shown.txt || expected "'$shown', found: $(cat shown.txt said.txt)"
done

"$program" hgemm show 512x512x512 --device recorded --top 64 > points.txt
"$python" "$checkout/tests/program/serve_client.py" "$program"
exec "$python" "$checkout/tests/reliability/faults.py" "$program" --class kill-serve --tries 5
