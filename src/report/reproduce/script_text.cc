#include <fmt/format.h>

#include <algorithm>

#include "report/reproduce/quoting.h"
#include "report/reproduce/texts.h"

namespace warpsmith::reproduce {
namespace {

constexpr char kHead[] = R"sh(#!/bin/sh
# Builds and times what README.txt describes. Needs a CUDA toolkit (13 or newer) and the GPU.
#   ./reproduce.sh [--seed N] [--samples N] [--gpu INDEX]
# $NVCC names another nvcc, $PYTHON another Python (for baseline.py, where there is one).
set -eu
cd "$(dirname "$0")"
nvcc=$(command -v "${NVCC:-nvcc}") || {
  echo "reproduce.sh: no nvcc in PATH; install a CUDA toolkit, or set NVCC" >&2
  exit 1
}
cuda=$(dirname "$(dirname "$(readlink -f "$nvcc")")")
lib="$cuda/lib64"
[ -d "$lib" ] || lib="$cuda/lib"
mkdir -p build
)sh";

// cuda.h's functions are linked from the toolkit's stubs where no driver is installed.
constexpr char kLink[] =
    R"sh("$nvcc" -std=c++17 -O2 -o build/reproduce reproduce.cu -L"$lib" -L"$lib/stubs" -Xlinker -rpath -Xlinker "$lib" \
  -lcuda -ldl)sh";

constexpr char kNvrtc[] =
    R"sh("$nvcc" -std=c++17 -O1 -o build/compile_with_nvrtc support/compile_with_nvrtc.cpp -L"$lib" -Xlinker -rpath \
  -Xlinker "$lib" -lnvrtc
)sh";

constexpr char kTorch[] = R"sh(python=${PYTHON:-python3}
if "$python" -c 'import torch' 2>/dev/null; then
  "$python" baseline.py
else
  echo "baseline.py not run: $python has no torch; set PYTHON to one that has"
fi
)sh";

bool Any(const Contenders& contenders, bool Contender::*need) {
  return std::any_of(contenders.timed.begin(), contenders.timed.end(),
                     [need](const Contender& one) { return one.*need; });
}

// Says whether the image is, bit for bit, the one that was judged.
std::string ImageCheck(const std::string& sha256) {
  if (sha256.empty()) return "";
  return fmt::format(
      "if command -v sha256sum > /dev/null; then\n"
      "  case $(sha256sum build/candidate.cubin) in\n"
      "    {}*) echo 'candidate.cubin is, bit for bit, the one that was judged' ;;\n"
      "    *) echo 'candidate.cubin is not the one that was judged: another compiler?' ;;\n"
      "  esac\nfi\n",
      ShellWord(sha256));
}

}  // namespace

std::string ScriptText(const Subject& subject, const Contenders& contenders) {
  std::string text = kHead;
  if (Any(contenders, &Contender::needs_nvrtc)) text += kNvrtc;
  for (const Contender& contender : contenders.timed) text += contender.build;
  if (subject.candidate.form == Form::kKernel) {
    text += ImageCheck(subject.verdict.evidence.artifact_sha256);
  }
  text += kLink;
  text += Any(contenders, &Contender::needs_cublas) ? " -lcublas -lcublasLt\n" : "\n";
  text += "build/reproduce \"$@\"\n";
  if (!contenders.callees.empty()) text += kTorch;
  return text;
}

}  // namespace warpsmith::reproduce
