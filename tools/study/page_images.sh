#!/usr/bin/env bash
# Draws the images of the pages again, where there is no GPU, as the pages suppose:
#   tools/study/page_images.sh /opt/warpsmith/bin/warpsmith
# The program should be an installed one (cmake --install build/release --prefix /opt/warpsmith): the
# paths that it prints are in the images.
set -euo pipefail

program=$1
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
export XDG_DATA_HOME=$work/data XDG_CACHE_HOME=$work/cache XDG_STATE_HOME=$work/state

draw() {  # image, command line to show, columns drawn, lines drawn, arguments of the program...
  python3 -B "$root/tools/study/terminal_svg.py" -o "$root/docs/images/$1" --shown "$2" \
    --columns "${columns:-120}" --crop "$3" --lines "$4" -- "$program" "${@:5}"
}
# The tutorial's kernel: its first block of CUDA.
sed -n '/^```cuda$/,/^```$/p' "$root/docs/tutorial.md" | sed '1d;/^```$/,$d' >scale.cu
"$program" task init scale.cu >/dev/null
draw check.svg 'warpsmith task check scale --text-only' 100 8 task check scale --text-only || [[ $? == 1 ]]
draw demo.svg ./demo 81 19 demo
columns=90 draw agent.svg './demo --agent' 90 24 demo --agent
draw library.svg 'warpsmith hgemm show 512x512x512 --top 1' 100 12 hgemm show 512x512x512 --top 1
