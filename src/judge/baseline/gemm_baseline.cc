#include "judge/baseline/gemm_baseline.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <memory>
#include <span>

#include "base/json_reader.h"
#include "base/text.h"
#include "cuda/cublas.h"
#include "judge/baseline/entrants.h"

namespace warpsmith::baseline {
namespace {

constexpr size_t kMostMatmuls = 16;  // kept: those of a shape or two are asked for again and again

std::string KeyOf(const cuda::GemmShape& shape) {
  std::string key;
  for (const int64_t extent : {shape.m, shape.n, shape.k}) key += std::to_string(extent) + " ";
  return key + std::to_string(static_cast<int>(shape.layout)) +
         std::to_string(static_cast<int>(shape.type));
}

using nlohmann::json;

struct LibraryRow {
  GemmLibrary library;
  std::string_view name;
};
constexpr std::array<LibraryRow, 3> kLibraries = {
    {{GemmLibrary::kCublas, "cublas"},
     {GemmLibrary::kLtHeuristic, "cublaslt-heuristic"},
     {GemmLibrary::kLtAuto, "cublaslt-auto"}}};
// Text() finds a name by the enumeration's value.
static_assert(kLibraries.size() == static_cast<size_t>(GemmLibrary::kThirdParty));

constexpr std::string_view kPathPrefix = "lib:";

// The tensor's address; kBadInput when it is missing or smaller than rows x columns halves.
Result<cuda::DevicePointer> Find(std::span<const plan::Binding> bindings, std::string_view tensor,
                                 int64_t rows, int64_t columns) {
  for (const plan::Binding& binding : bindings) {
    if (binding.tensor != tensor) continue;
    if (binding.bytes >= rows * columns * 2) return binding.address;
    return Error{ErrorCode::kBadInput,
                 "a GEMM baseline needs " + std::to_string(rows * columns * 2) + " bytes of " +
                     std::string(tensor) + ", " + std::to_string(binding.bytes) + " are bound",
                 "bind whole tensors of the workload"};
  }
  return Error{ErrorCode::kBadInput,
               "a GEMM baseline needs the tensor " + std::string(tensor) + ", which is not bound",
               "baselines of this name are for tasks with tensors A, B and C"};
}

Result<cuda::GemmOperands> OperandsOf(const cuda::GemmShape& shape,
                                      std::span<const plan::Binding> bindings) {
  return cuda::GemmOperands{.a = TRY(Find(bindings, "A", shape.m, shape.k)),
                            .b = TRY(Find(bindings, "B", shape.k, shape.n)),
                            .c = TRY(Find(bindings, "C", shape.m, shape.n))};
}

Result<plan::TimedCallable> MakeCublas(const GemmBaselineChoice& choice, SharedHandles& shared) {
  auto cublas = TRY(shared.CublasOf(choice.shape.type));
  return plan::TimedCallable{
      Text(choice.name),
      [cublas, shape = choice.shape](const cuda::Stream& stream,
                                     std::span<const plan::Binding> bindings) -> Status {
        return cublas->Gemm(shape, TRY(OperandsOf(shape, bindings)), stream);
      }};
}

Result<plan::TimedCallable> MakeCublasLt(const GemmBaselineChoice& choice, SharedHandles& shared) {
  auto matmul = TRY(shared.MatmulOf(choice.shape));
  const cuda::LtAlgorithm algorithm = TRY(matmul->Check(*choice.algorithm));
  auto workspace = TRY(shared.Workspace(algorithm.workspace_bytes));
  return plan::TimedCallable{
      Text(choice.name),
      [matmul, algorithm, workspace, shape = choice.shape](
          const cuda::Stream& stream, std::span<const plan::Binding> bindings) -> Status {
        return matmul->Run(algorithm, TRY(OperandsOf(shape, bindings)), *workspace, stream);
      }};
}

// Who must have an algorithm, who must not, and the bar, which may run either library. So where this
// holds, the algorithm says which of the two is called.
bool AlgorithmFits(const GemmBaselineName& name, bool has_algorithm) {
  switch (name.library) {
    case GemmLibrary::kCublas:
    case GemmLibrary::kThirdParty:
      return !has_algorithm;
    case GemmLibrary::kLtHeuristic:
      return has_algorithm;
    case GemmLibrary::kLtAuto:
      return has_algorithm || !name.layout;
  }
  return false;
}

Result<cuda::GemmLayout> LayoutFrom(const JsonReader& reader) {
  const std::string text = TRY(reader.String());
  if (text == "NN") return cuda::GemmLayout::kNN;
  if (text == "TN") return cuda::GemmLayout::kTN;
  return reader.Bad("NN or TN");
}

Result<cuda::HalfType> TypeFrom(const JsonReader& reader) {
  const std::string text = TRY(reader.String());
  for (const cuda::HalfType type : {cuda::HalfType::kF16, cuda::HalfType::kBF16}) {
    if (text == Text(type)) return type;
  }
  return reader.Bad("f16 or bf16");
}

Result<int64_t> ExtentFrom(const JsonReader& reader) { return reader.IntIn(1, int64_t{1} << 31); }

}  // namespace

Result<std::shared_ptr<const cuda::Cublas>> SharedHandles::CublasOf(cuda::HalfType type) {
  auto& known = cublas_[type];
  if (known == nullptr) {
    known = std::make_shared<const cuda::Cublas>(TRY(cuda::Cublas::Create(type)));
  }
  return known;
}

Result<std::shared_ptr<const cuda::LtMatmul>> SharedHandles::MatmulOf(
    const cuda::GemmShape& shape) {
  const std::string key = KeyOf(shape);
  if (const auto known = matmuls_.find(key); known != matmuls_.end()) return known->second;
  auto made = std::make_shared<const cuda::LtMatmul>(TRY(cuda::LtMatmul::Create(shape)));
  if (matmuls_.size() >= kMostMatmuls) matmuls_.clear();
  matmuls_.emplace(key, made);
  return made;
}

Result<std::shared_ptr<const cuda::DeviceBuffer>> SharedHandles::Workspace(size_t bytes) {
  if (workspace_ == nullptr || workspace_->bytes() < bytes) {
    workspace_ = std::make_shared<const cuda::DeviceBuffer>(
        TRY(cuda::DeviceBuffer::Allocate(std::max(bytes, kLibraryWorkspaceBytes))));
  }
  return workspace_;
}

Result<GemmBaselineName> ParseGemmBaselineName(std::string_view text) {
  if (text.starts_with(kPathPrefix)) {
    return GemmBaselineName{
        GemmLibrary::kThirdParty, {}, std::string(text.substr(kPathPrefix.size()))};
  }
  std::string_view stem = text;
  std::optional<cuda::GemmLayout> layout;
  if (text.ends_with("-nn")) layout = cuda::GemmLayout::kNN;
  if (text.ends_with("-tn")) layout = cuda::GemmLayout::kTN;
  if (layout) stem.remove_suffix(3);
  for (const LibraryRow& row : kLibraries) {
    if (row.name == stem) return GemmBaselineName{row.library, layout};
  }
  return Error{ErrorCode::kUsage, "no GEMM baseline is called '" + std::string(text) + "'",
               "choose one of: " + Joined(GemmBaselineNames())};
}

std::string Text(const GemmBaselineName& name) {
  if (name.library == GemmLibrary::kThirdParty) return std::string(kPathPrefix) + name.path;
  std::string text(kLibraries[static_cast<size_t>(name.library)].name);
  if (name.layout) text += *name.layout == cuda::GemmLayout::kNN ? "-nn" : "-tn";
  return text;
}

std::string_view Text(cuda::GemmLayout layout) {
  return layout == cuda::GemmLayout::kNN ? "NN" : "TN";
}

std::string_view Text(cuda::HalfType type) {
  return type == cuda::HalfType::kBF16 ? "bf16" : "f16";
}

std::vector<std::string> GemmBaselineNames() {
  std::vector<std::string> names;
  for (const LibraryRow& row : kLibraries) {
    names.push_back(Text(GemmBaselineName{row.library, {}}));
    names.push_back(Text(GemmBaselineName{row.library, cuda::GemmLayout::kNN}));
    names.push_back(Text(GemmBaselineName{row.library, cuda::GemmLayout::kTN}));
  }
  return names;
}

json ToJson(const GemmBaselineChoice& choice) {
  json value = {{"version", kGemmChoiceVersion},
                {"name", Text(choice.name)},
                {"m", choice.shape.m},
                {"n", choice.shape.n},
                {"k", choice.shape.k},
                {"layout", Text(choice.shape.layout)},
                {"median_us", NumberToJson(choice.median_us)},
                {"tried", choice.tried},
                {"library", choice.library},
                {"mode", Name(choice.mode)},
                {"contest", choice.contest},
                {"listed_us", NumberToJson(choice.listed_us)}};
  if (choice.exhaustive) value["exhaustive"] = true;
  if (choice.shape.type != cuda::HalfType::kF16) value["dtype"] = Text(choice.shape.type);
  if (choice.algorithm) value["algorithm"] = cuda::ToHex(*choice.algorithm);
  return value;
}

namespace {

Status ReadContest(const JsonReader& reader, GemmBaselineChoice& choice) {
  const auto mode = ModeFromName(TRY(reader.At("mode").String()));
  if (!mode) return reader.At("mode").Bad("a timing mode");
  choice.mode = *mode;
  choice.contest = TRY(reader.At("contest").String());
  choice.listed_us = TRY(reader.At("listed_us").Number());
  if (reader.Has("exhaustive")) choice.exhaustive = TRY(reader.At("exhaustive").Bool());
  return {};
}

}  // namespace

Result<GemmBaselineChoice> GemmBaselineChoiceFrom(const JsonReader& reader) {
  TRY(reader.OnlyFields({"version", "name", "m", "n", "k", "layout", "dtype", "median_us", "tried",
                         "library", "algorithm", "mode", "contest", "listed_us", "exhaustive"}));
  const int64_t version = TRY(reader.At("version").Int());
  if (version < 1 || version > kGemmChoiceVersion) {
    Error error = reader.At("version").Bad("version " + std::to_string(kGemmChoiceVersion));
    error.code = ErrorCode::kVersion;
    return error;
  }
  GemmBaselineChoice choice;
  choice.name = TRY(ParseGemmBaselineName(TRY(reader.At("name").String())));
  choice.shape = {.m = TRY(ExtentFrom(reader.At("m"))),
                  .n = TRY(ExtentFrom(reader.At("n"))),
                  .k = TRY(ExtentFrom(reader.At("k"))),
                  .layout = TRY(LayoutFrom(reader.At("layout")))};
  if (reader.Has("dtype")) choice.shape.type = TRY(TypeFrom(reader.At("dtype")));
  choice.median_us = TRY(reader.At("median_us").Number());
  choice.tried = static_cast<int>(TRY(reader.At("tried").IntIn(1, 1'000'000)));
  choice.library = TRY(reader.At("library").String());
  if (version > 1) TRY(ReadContest(reader, choice));
  const bool has_algorithm = reader.Has("algorithm");
  if (!AlgorithmFits(choice.name, has_algorithm)) {
    return reader.At("algorithm")
        .Bad("cuBLASLt's algorithm for a cublaslt baseline, none otherwise");
  }
  if (has_algorithm) {
    choice.algorithm = TRY(cuda::LtAlgorithmFromHex(TRY(reader.At("algorithm").String())));
  }
  return choice;
}

std::string ToText(const GemmBaselineChoice& choice) { return JsonText(ToJson(choice)); }

Result<GemmBaselineChoice> GemmBaselineChoiceFromText(const std::string& text) {
  const json value = TRY(ParseJson("baseline choice", text));
  return GemmBaselineChoiceFrom(JsonReader("baseline choice", value));
}

std::string CallOf(const GemmBaselineChoice& choice) {
  const std::string layout(Text(choice.shape.layout));
  switch (choice.name.library) {
    case GemmLibrary::kThirdParty:
      return Text(choice.name);
    case GemmLibrary::kCublas:
    case GemmLibrary::kLtHeuristic:
    case GemmLibrary::kLtAuto:
      break;  // see AlgorithmFits
  }
  if (!choice.algorithm) return "cublasGemmEx " + layout;
  return "cublasLtMatmul " + layout + " " + cuda::ToHex(*choice.algorithm);
}

Result<plan::TimedCallable> MakeGemmBaseline(const GemmBaselineChoice& choice,
                                             SharedHandles& shared) {
  switch (choice.name.library) {
    case GemmLibrary::kThirdParty:
      return MakeThirdParty(choice.name.path, choice.shape);
    case GemmLibrary::kCublas:
    case GemmLibrary::kLtHeuristic:
    case GemmLibrary::kLtAuto:
      break;
  }
  return choice.algorithm ? MakeCublasLt(choice, shared) : MakeCublas(choice, shared);
}

}  // namespace warpsmith::baseline
