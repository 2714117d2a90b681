#include <fmt/core.h>

#include <algorithm>
#include <filesystem>

#include "base/foreign_file.h"
#include "base/text.h"
#include "compile/nvcc.h"
#include "compile/toolchain.h"
#include "core/program_shim.h"
#include "judge/baseline/gemm_baseline.h"
#include "report/reproduce/parts.h"

namespace warpsmith::reproduce {
namespace {

namespace fs = std::filesystem;

// Where one contender's files go, and what it is called in reproduce.cu.
struct Place {
  std::string folder, image, type, variable, title;
};

std::string ShellWords(const std::vector<std::string>& words) {
  std::string line;
  for (const std::string& word : words) line += " " + ShellWord(word);
  return line;
}

// --- How an image comes about: the same compiler, with the same flags, as for the judge.

std::string KernelBuild(const Place& place, const Candidate& candidate,
                        const std::string& architecture) {
  const std::string flags = ShellWords(compile::CompileFlags(candidate, architecture));
  if (candidate.toolchain == "nvrtc") {
    return fmt::format("build/compile_with_nvrtc {} {} {} \"$cuda/include\"{}\n", place.folder,
                       ShellWord(candidate.entry), place.image, flags);
  }
  return fmt::format("\"$nvcc\" -cubin{} -I {} -o {} {}\n", flags, place.folder, place.image,
                     ShellWord(place.folder + "/" + candidate.entry));
}

std::string ProgramBuild(const Place& place, const Candidate& whole,
                         const std::string& architecture) {
  const compile::Compilation compilation{whole.entry, whole.sources, {}};
  std::vector<std::string> units;
  for (const std::string& unit : compile::ProgramUnits(compilation)) {
    units.push_back(place.folder + "/" + unit);
  }
  return fmt::format(
      "\"$nvcc\" -shared -Xcompiler -fPIC -O3 -cudart shared -L\"$lib\" -Xlinker -rpath "
      "-Xlinker \"$lib\"{} \\\n  -I {} -o {}{}\n",
      ShellWords(compile::CompileFlags(whole, architecture)), place.folder, place.image,
      ShellWords(units));
}

// --- Candidates and rivals.

Result<Contender> KernelContender(const Place& place, const Candidate& candidate,
                                  const Subject& subject, const Occupancy& occupancy) {
  const ClusterOccupancy ask = [&](const ResolvedLaunch& launch) {
    return occupancy(candidate, launch);
  };
  const ResolvedPlan resolved =
      TRY(Resolve(candidate.plan, subject.task, subject.workload.sizes, subject.device.sm_count,
                  occupancy ? ask : ClusterOccupancy()));
  Contender contender;
  contender.definition =
      PlanClass({place.type, place.title, place.image}, subject.task, candidate.plan, resolved);
  contender.declaration = fmt::format("{} {};", place.type, place.variable);
  contender.build = KernelBuild(place, candidate, subject.device.architecture);
  contender.sources = TRY(FilesIn(place.folder, candidate.sources));
  contender.needs_nvrtc = candidate.toolchain == "nvrtc";
  return contender;
}

Result<Contender> ProgramContender(const Place& place, const Candidate& candidate,
                                   const Subject& subject) {
  const Candidate whole = TRY(WithProgramShim(candidate, subject.task, subject.workload));
  Contender contender;
  contender.declaration = fmt::format("Program {}({}, {});", place.variable,
                                      CppLiteral(place.title), CppLiteral(place.image));
  contender.build = ProgramBuild(place, whole, subject.device.architecture);
  contender.sources = TRY(FilesIn(place.folder, whole.sources));
  return contender;
}

Result<Contender> MakeContender(const Place& place, const Candidate& candidate,
                                const Subject& subject, const Occupancy& occupancy) {
  const bool is_program = candidate.form == Form::kProgram;
  Contender contender = TRY(is_program ? ProgramContender(place, candidate, subject)
                                       : KernelContender(place, candidate, subject, occupancy));
  contender.name = place.title;
  contender.variable = place.variable;
  return contender;
}

// --- Libraries.

struct GemmPlaces {
  size_t a = 0, b = 0, c = 0;
  int64_t m = 0, n = 0, k = 0;
};

Result<GemmPlaces> FindGemm(const Subject& subject) {
  GemmPlaces places;
  for (auto [name, place] : {std::pair("A", &places.a), {"B", &places.b}, {"C", &places.c}}) {
    const auto& tensors = subject.task.tensors;
    const auto found =
        std::find_if(tensors.begin(), tensors.end(), [name = name](const TensorSpec& tensor) {
          return tensor.name == name && tensor.shape.size() == 2;
        });
    if (found == tensors.end()) {
      return Error{ErrorCode::kBadInput, fmt::format("the task has no matrix {}", name), ""};
    }
    *place = static_cast<size_t>(found - tensors.begin());
  }
  const auto a = TRY(Extents(subject.task.tensors[places.a], subject.workload.sizes));
  const auto c = TRY(Extents(subject.task.tensors[places.c], subject.workload.sizes));
  places.m = c[0];
  places.n = c[1];
  places.k = a[1];
  return places;
}

std::string LibraryName(baseline::GemmLibrary library) {
  switch (library) {
    case baseline::GemmLibrary::kCublas:
      return "kCublas";
    case baseline::GemmLibrary::kLtHeuristic:
      return "kLtHeuristic";
    case baseline::GemmLibrary::kLtAuto:
      return "kLtAuto";
    case baseline::GemmLibrary::kThirdParty:
      break;  // AddGemm refuses it
  }
  std::abort();
}

// A name without a layout is the faster of both: two contenders.
Status AddGemm(const std::string& name, const Subject& subject, std::vector<Contender>& timed) {
  const baseline::GemmBaselineName parsed = TRY(baseline::ParseGemmBaselineName(name));
  if (parsed.library == baseline::GemmLibrary::kThirdParty) {
    return Error{ErrorCode::kBadInput, name + " is a library of the judging machine's", ""};
  }
  const GemmPlaces places = TRY(FindGemm(subject));
  const auto layout = subject.task.reference.options.find("layout");
  const bool task_is_tn = layout != subject.task.reference.options.end() && layout->second == "TN";
  for (const auto one : {cuda::GemmLayout::kNN, cuda::GemmLayout::kTN}) {
    if (parsed.layout && *parsed.layout != one) continue;
    const bool is_tn = one == cuda::GemmLayout::kTN;
    Contender contender;
    contender.name = baseline::Text(baseline::GemmBaselineName{parsed.library, one});
    contender.variable = fmt::format("baseline{}", timed.size());
    contender.needs_cublas = true;
    contender.declaration = fmt::format(
        "Gemm {}({}, Library::{}, {{/*m*/ {}, /*n*/ {}, /*k*/ {}, /*B is n x k*/ {}}},\n"
        "             {}, {}, {}, /*same outputs*/ {});",
        contender.variable, CppLiteral(contender.name), LibraryName(parsed.library), places.m,
        places.n, places.k, is_tn, places.a, places.b, places.c, is_tn == task_is_tn);
    timed.push_back(std::move(contender));
  }
  return {};
}

// --- Baselines by name.

const Candidate* FindRival(const Task& task, const std::string& name) {
  for (const Rival& rival : task.rivals) {
    if (rival.name == name) return &rival.candidate;
  }
  return nullptr;
}

Status AddRival(const std::string& name, const Candidate& rival, const Subject& subject,
                const Occupancy& occupancy, std::vector<Contender>& timed) {
  // A program's calls cannot be put between events.
  if (subject.candidate.form == Form::kKernel && rival.form == Form::kProgram) {
    return Error{ErrorCode::kBadInput, "it is a program, the candidate is not", ""};
  }
  const std::string folder = fmt::format("rivals/{}-{}", timed.size(), FolderName(name));
  const Place place{folder, fmt::format("build/rival{}.image", timed.size()),
                    fmt::format("Rival{}", timed.size()), fmt::format("rival{}", timed.size()),
                    Plain(name)};
  timed.push_back(TRY(MakeContender(place, rival, subject, occupancy)));
  return {};
}

bool HasTorch(const Task& task) {
  return task.reference.kind == "torch" || task.reference.options.contains("module");
}

std::vector<std::string> CalleesOf(const std::string& name) {
  if (name == "torch-eager") return {"eager"};
  if (name == "torch-compile") return {"compile"};
  if (name == "torch-best") return {"eager", "compile"};
  return {};
}

Status AddBaseline(const std::string& name, const Subject& subject, const Occupancy& occupancy,
                   Contenders& contenders) {
  if (const Candidate* rival = FindRival(subject.task, name)) {
    return AddRival(name, *rival, subject, occupancy, contenders.timed);
  }
  if (subject.task.reference.kind == "gemm") return AddGemm(name, subject, contenders.timed);
  const std::vector<std::string> callees = CalleesOf(name);
  if (callees.empty() || !HasTorch(subject.task)) {
    return Error{ErrorCode::kBadInput, "a baseline that this folder cannot hold", ""};
  }
  for (const std::string& callee : callees) {
    auto& known = contenders.callees;
    if (std::find(known.begin(), known.end(), callee) == known.end()) known.push_back(callee);
  }
  return {};
}

// What only a device could answer, and there is none.
Error Unwritable(const Subject& subject, Error error) {
  error.message = fmt::format("{}: its plan cannot be written as numbers for workload '{}': {}",
                              subject.name, subject.workload.name, error.message);
  if (error.fix.empty()) error.fix = "evaluate with --reproduce on the GPU itself";
  return error;
}

}  // namespace

Result<Files> FilesIn(const std::string& folder, const Files& sources) {
  Files files;
  for (const auto& [path, text] : sources) {
    // nvcc hands names to a shell.
    if (!StaysInside(path) || !IsMadeOf(path, "_-+./")) {
      return Error{ErrorCode::kBadInput,
                   "source '" + Plain(path) + "' cannot be the name of a file here",
                   "rename it: letters, digits, _-+. and folders below the candidate's own"};
    }
    files[fmt::format("{}/{}", folder, path)] = text;
  }
  return files;
}

Result<Contenders> ContendersOf(const Subject& subject, const Occupancy& occupancy) {
  Contenders contenders;
  const bool is_program = subject.candidate.form == Form::kProgram;
  const Place place{"candidate", is_program ? "build/candidate.so" : "build/candidate.cubin",
                    "Candidate", "candidate", "candidate"};
  auto own = MakeContender(place, subject.candidate, subject, occupancy);
  if (!own.ok()) return Unwritable(subject, own.error());
  contenders.timed.push_back(std::move(own).value());
  for (const std::string& name : subject.task.baselines) {
    const Status added = AddBaseline(name, subject, occupancy, contenders);
    if (!added.ok()) contenders.absent.push_back(Plain(name + ": " + added.error().message));
  }
  return contenders;
}

}  // namespace warpsmith::reproduce
