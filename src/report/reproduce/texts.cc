#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/build_info.h"
#include "base/text.h"
#include "core/json_fields.h"
#include "embedded/reproduce_script.h"
#include "report/reproduce/parts.h"

namespace warpsmith::reproduce {

// --- Foreign text.

namespace {

bool IsPrintable(char c) { return c >= ' ' && c <= '~'; }

}  // namespace

std::string Plain(std::string_view text) {
  std::string plain(text);
  for (char& c : plain) {
    // A backslash at the end of a line would draw the next one into a comment.
    if (!IsPrintable(c) || c == '\\') c = '?';
  }
  return plain;
}

std::string CppLiteral(std::string_view text) {
  std::string literal = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      literal += fmt::format("\\{}", c);
    } else if (IsPrintable(c) && c != '?') {
      literal += c;
    } else {  // three octal digits never run on; '?' could begin a trigraph
      literal += fmt::format("\\{:03o}", static_cast<unsigned char>(c));
    }
  }
  return literal + "\"";
}

std::string ShellWord(std::string_view text) {
  if (IsMadeOf(text, "_-+./=:,")) return std::string(text);  // no shell gives these a meaning
  std::string word = "'";
  for (const char c : text) {
    if (c == '\'') {
      word += "'\\''";
    } else {
      word += c;
    }
  }
  return word + "'";
}

// --- reproduce.cu

namespace {

// "DeviceCold" of "device-cold".
std::string Camel(std::string_view words) {
  std::string name;
  bool begins = true;
  for (const char c : words) {
    if (c != '-') name += begins ? static_cast<char>(c - (c >= 'a' && c <= 'z' ? 32 : 0)) : c;
    begins = c == '-';
  }
  return name;
}

std::string FillText(const TensorSpec& tensor) {
  if (tensor.role == Role::kOutput) return "kOutput";
  if (tensor.generator != Generator::kReference) {
    return "k" + Camel(json_fields::Value(tensor.generator).get<std::string>());
  }
  // Only the reference could draw them: whole numbers may be indices.
  return IsInteger(tensor.dtype) || tensor.dtype == DType::kBool ? "kZero" : "kNormal";
}

Result<std::string> TensorText(const TensorSpec& tensor, const Sizes& sizes) {
  int64_t elements = 1;
  std::string shape;
  for (const int64_t extent : TRY(Extents(tensor, sizes))) {
    elements *= extent;
    shape += fmt::format("{}{}", shape.empty() ? "" : " x ", extent);
  }
  const std::string fill = FillText(tensor);
  std::string bounds;
  if (fill == "kIntegers" || fill == "kOffsets") {
    bounds =
        fmt::format(", {}, {}", TRY(tensor.low.Evaluate(sizes)), TRY(tensor.high.Evaluate(sizes)));
  }
  return fmt::format("      {{{}, Type::k{}, {}, Fill::{}{}}},  // {}\n", CppLiteral(tensor.name),
                     Camel(Name(tensor.dtype)), elements, fill, bounds, shape);
}

std::string Head(const Subject& subject) {
  return fmt::format(
      "// Written by warpsmith: times the candidate of README.txt without it.\n"
      "// Task {}, workload {}, {} SMs. reproduce.sh builds and runs it.\n",
      Plain(subject.task.name), Plain(subject.workload.name), subject.device.sm_count);
}

// The verdict's modes; with the wall clock where PyTorch is to be compared.
std::string MeasurementsText(const Subject& subject, bool with_torch) {
  std::vector<Mode> modes;
  for (const Timing& timing : std::get<Passed>(subject.verdict.outcome).timings) {
    for (const ModeTiming& mode : timing.modes) modes.push_back(mode.mode);
  }
  const bool has_wall = std::find(modes.begin(), modes.end(), Mode::kWall) != modes.end();
  if (with_torch && !has_wall) modes.push_back(Mode::kWall);
  std::string text;
  for (const Mode mode : modes) text += fmt::format("  measurement.{}();\n", Camel(Name(mode)));
  return text;
}

}  // namespace

Result<std::string> SourceText(const Subject& subject, const Contenders& contenders) {
  std::string text = Head(subject);
  if (std::any_of(contenders.timed.begin(), contenders.timed.end(),
                  [](const Contender& one) { return one.needs_cublas; })) {
    text += "#include \"support/gemm.h\"\n";
  }
  text += "#include \"support/launch.h\"\n#include \"support/measure.h\"\n";
  text += "#include \"support/program.h\"\n\n";
  std::string declarations, pointers, tensors;
  for (const Contender& contender : contenders.timed) {
    if (!contender.definition.empty()) text += contender.definition + "\n";
    declarations += "  " + contender.declaration + "\n";
    pointers += (pointers.empty() ? "&" : ", &") + contender.variable;
  }
  for (const TensorSpec& tensor : subject.task.tensors) {
    tensors += TRY(TensorText(tensor, subject.workload.sizes));
  }
  text += fmt::format(
      "int main(int argc, char** argv) {{\n"
      "  const std::vector<Tensor> tensors = {{\n{}  }};\n{}"
      "  Measurement measurement(tensors, {{{}}}, ParseOptions(argc, argv));\n{}"
      "  return 0;\n}}\n",
      tensors, declarations, pointers, MeasurementsText(subject, !contenders.callees.empty()));
  return text;
}

// --- reproduce.sh

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

// --- README.txt and baseline.json

namespace {

std::string SizesText(const Sizes& sizes) {
  return Joined(sizes, ", ", [](const auto& size) {
    return fmt::format("{} = {}", Plain(size.first), size.second);
  });
}

std::string SubjectText(const Subject& subject) {
  const Evidence& evidence = subject.verdict.evidence;
  return fmt::format(
      "task         {}\n"
      "             id {}\n"
      "workload     {}: {}\n"
      "candidate    {}\n"
      "             id {}\n"
      "measured on  {} ({}), driver {}\n"
      "date         {}\n"
      "compiled by  {}, for {}\n"
      "libraries    {}\n"
      "protocol     {}\n"
      "measurement  {}\n",
      Plain(subject.task.name), TaskId(subject.task), Plain(subject.workload.name),
      SizesText(subject.workload.sizes), Plain(subject.name), CandidateId(subject.candidate),
      Plain(evidence.device), Plain(evidence.device_uuid), Plain(evidence.driver),
      Plain(evidence.date), Plain(evidence.toolchain), Plain(evidence.architecture),
      Plain(evidence.baseline_library), Plain(evidence.protocol), Plain(subject.key));
}

std::string ModeText(const ModeTiming& mode) {
  std::string text = fmt::format("  {:<12} {:10.3f} us  [{:.3f}, {:.3f}]{}\n", Name(mode.mode),
                                 mode.candidate.median_us, mode.candidate.interval_us.lo,
                                 mode.candidate.interval_us.hi,
                                 mode.below_roofline ? "  BELOW ITS FLOOR: suspicious" : "");
  for (const Comparison& comparison : mode.comparisons) {
    text += fmt::format("    {:.4f}x {} [{:.4f}, {:.4f}]: {}\n", comparison.ratio,
                        Plain(comparison.baseline), comparison.interval.lo, comparison.interval.hi,
                        Name(comparison.finding));
  }
  return text;
}

std::string VerdictText(const Verdict& verdict) {
  std::string text = fmt::format("verdict      {}\n", Plain(Describe(verdict.outcome)));
  if (const auto* passed = std::get_if<Passed>(&verdict.outcome)) {
    for (const Timing& timing : passed->timings) {
      for (const ModeTiming& mode : timing.modes) text += ModeText(mode);
    }
  }
  return text;
}

bool DrawnByReference(const Task& task) {
  for (const TensorSpec& tensor : task.tensors) {
    if (tensor.role == Role::kInput && tensor.generator == Generator::kReference) return true;
  }
  return false;
}

// How to run it and what the modes are; what this does not do that the judge does.
std::pair<std::string_view, std::string_view> FixedReadme() {
  for (const EmbeddedFile& file : embedded::ReproduceScript()) {
    if (file.path != "README.txt") continue;
    const size_t mark = file.contents.find("@\n");
    return {file.contents.substr(0, mark), file.contents.substr(mark + 1)};
  }
  CHECK(!"the file was not embedded");
  return {};
}

std::string OptionOf(const ReferenceSpec& reference, const std::string& name,
                     const std::string& otherwise) {
  const auto found = reference.options.find(name);
  return found == reference.options.end() ? otherwise : found->second;
}

}  // namespace

std::string ReadmeText(const Subject& subject, const Contenders& contenders) {
  std::string text = fmt::format(
      "What warpsmith {} said of a candidate, and how to time it without warpsmith.\n\n",
      build_info::Version());
  text += SubjectText(subject) + VerdictText(subject.verdict);
  const auto [run, limits] = FixedReadme();
  text += "\n";
  text += run;
  std::string timed;
  for (size_t i = 1; i < contenders.timed.size(); ++i) {
    timed += fmt::format("  {}\n", Plain(contenders.timed[i].name));
  }
  if (!timed.empty()) text += "\nTimed beside the candidate:\n" + timed;
  if (!contenders.callees.empty()) {
    text +=
        "\nPyTorch is a baseline: baseline.py times the task's own code (reference/), eager and\n"
        "compiled, on tensors of the same shapes, by the host's clock: compare with wall. It is\n"
        "run where a Python with torch is found, and divides by the candidate's wall time.\n";
  }
  if (!contenders.absent.empty()) text += "\nNot timed here:\n";
  for (const std::string& absent : contenders.absent) text += "  " + absent + "\n";
  text += limits;
  if (DrawnByReference(subject.task)) {
    text +=
        "  - inputs that the task's reference draws itself are N(0, 1) here, whole numbers 0.\n";
  }
  return text;
}

Result<std::string> BaselineText(const Subject& subject, const Contenders& contenders) {
  const Task& task = subject.task;
  nlohmann::json inputs = nlohmann::json::array();
  for (const TensorSpec& tensor : task.tensors) {
    if (tensor.role != Role::kInput) continue;
    const auto& sizes = subject.workload.sizes;
    const auto shape = TRY(Extents(tensor, sizes));
    const auto low = TRY(tensor.low.Evaluate(sizes)), high = TRY(tensor.high.Evaluate(sizes));
    inputs.push_back({{"name", tensor.name},
                      {"dtype", Name(tensor.dtype)},
                      {"shape", shape},
                      {"generator", json_fields::Value(tensor.generator)},
                      {"low", low},
                      {"high", high}});
  }
  // A driver's Python is the module that was paired with it.
  const bool is_driver = task.reference.kind != "torch";
  const nlohmann::json document = {
      {"entry", OptionOf(task.reference, is_driver ? "module" : "entry", "reference.py")},
      {"style", is_driver ? "module" : OptionOf(task.reference, "style", "function")},
      {"dtype", OptionOf(task.reference, "dtype", "")},
      {"sizes", subject.workload.sizes},
      {"inputs", inputs},
      {"callees", contenders.callees}};
  return document.dump(1, ' ', true, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace warpsmith::reproduce
