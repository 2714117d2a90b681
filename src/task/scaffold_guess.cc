#include "task/scaffold_guess.h"

#include <algorithm>
#include <map>
#include <optional>

#include "base/utf8.h"
#include "task/launch_expression.h"

namespace warpsmith::task {
namespace {

const std::map<std::string_view, DType> kTensorTypes = {{"half", DType::kF16},
                                                        {"__half", DType::kF16},
                                                        {"half2", DType::kF16},
                                                        {"__half2", DType::kF16},
                                                        {"nv_bfloat16", DType::kBF16},
                                                        {"__nv_bfloat16", DType::kBF16},
                                                        {"__nv_bfloat162", DType::kBF16},
                                                        {"nv_bfloat162", DType::kBF16},
                                                        {"float", DType::kF32},
                                                        {"float2", DType::kF32},
                                                        {"float4", DType::kF32},
                                                        {"double", DType::kF64},
                                                        {"double2", DType::kF64},
                                                        {"char", DType::kI8},
                                                        {"signed char", DType::kI8},
                                                        {"unsigned char", DType::kI8},
                                                        {"int8_t", DType::kI8},
                                                        {"uint8_t", DType::kI8},
                                                        {"int", DType::kI32},
                                                        {"unsigned int", DType::kI32},
                                                        {"unsigned", DType::kI32},
                                                        {"int32_t", DType::kI32},
                                                        {"uint32_t", DType::kI32},
                                                        {"int2", DType::kI32},
                                                        {"int4", DType::kI32},
                                                        {"long", DType::kI64},
                                                        {"long long", DType::kI64},
                                                        {"long int", DType::kI64},
                                                        {"int64_t", DType::kI64},
                                                        {"uint64_t", DType::kI64},
                                                        {"unsigned long", DType::kI64},
                                                        {"unsigned long long", DType::kI64},
                                                        {"size_t", DType::kI64},
                                                        {"bool", DType::kBool},
                                                        {"void", DType::kF32}};

const std::map<std::string_view, std::string_view> kScalarTypes = {
    {"int", "i32"},           {"unsigned", "i32"},      {"unsigned int", "i32"},
    {"int32_t", "i32"},       {"uint32_t", "i32"},      {"short", "i32"},
    {"long", "i64"},          {"long int", "i64"},      {"long long", "i64"},
    {"long long int", "i64"}, {"unsigned long", "i64"}, {"unsigned long long", "i64"},
    {"size_t", "i64"},        {"std::size_t", "i64"},   {"int64_t", "i64"},
    {"uint64_t", "i64"},      {"std::int64_t", "i64"},  {"ptrdiff_t", "i64"},
    {"float", "f32"},         {"double", "f64"},        {"bool", "bool"},
    {"cudaStream_t", "none"}, {"CUstream", "none"}};

Error Unfit(const std::string& what, const std::string& fix) {
  return {ErrorCode::kBadInput, what, fix};
}

// Why a function cannot be the task's; empty: it can.
std::string Obstacle(const CudaFunction& function) {
  const std::string name = (function.kernel ? "kernel '" : "function '") + function.name + "'";
  if (function.is_template) return name + " is a template";
  if (function.local) return name + " is static or in an unnamed namespace";
  if (!function.kernel && function.scoped) return name + " is in a namespace";
  if (!function.kernel && function.manages_memory) {
    return name + " allocates or copies memory itself, so its pointers are the host's";
  }
  size_t tensors = 0;
  for (size_t i = 0; i < function.parameters.size(); ++i) {
    const CudaParameter& parameter = function.parameters[i];
    const std::string which = parameter.name.empty() ? "parameter " + std::to_string(i + 1)
                                                     : "parameter '" + parameter.name + "'";
    const bool known = parameter.pointers == 0
                           ? kScalarTypes.contains(parameter.element)
                           : parameter.pointers == 1 && kTensorTypes.contains(parameter.element);
    const auto scalar = kScalarTypes.find(parameter.element);
    const bool stream = scalar != kScalarTypes.end() && scalar->second == "none";
    // A launch plan has no stream to give.
    if (!known || (stream && function.kernel))
      return which + " of " + name + " is a '" + parameter.type + "'";
    tensors += parameter.pointers == 1 ? 1 : 0;
  }
  return tensors > 0 ? "" : name + " takes no pointer";
}

constexpr char kHowToMend[] =
    "write a plain function: void run(const float* x, float* y, int n), which launches the kernel "
    "on device pointers, and pass --function run";

Result<const CudaFunction*> Wanted(const CudaFile& file, const std::string& wanted) {
  for (const CudaFunction& function : file.functions) {
    if (function.name != wanted) continue;
    if (const std::string why = Obstacle(function); !why.empty()) return Unfit(why, kHowToMend);
    return &function;
  }
  std::string names;
  for (const CudaFunction& function : file.functions) {
    names += (names.empty() ? "" : ", ") + function.name;
  }
  return Unfit("no function '" + wanted + "' is defined",
               names.empty() ? "" : "there are: " + names);
}

// Higher is better; 0: not at all.
int Rank(const CudaFunction& function) {
  if (!Obstacle(function).empty() || function.name == "main") return 0;
  if (function.kernel) return 1;
  if (function.name == "launch_gpu_implementation") return 3;
  return function.launches.empty() ? 0 : 2;
}

// The last of the best: files build up to what they are for.
Result<const CudaFunction*> Choose(const CudaFile& file) {
  const CudaFunction* best = nullptr;
  std::string why;
  for (const CudaFunction& function : file.functions) {
    const int rank = Rank(function);
    if (rank > 0 && (best == nullptr || rank >= Rank(*best))) best = &function;
    if (rank == 0 && (function.kernel || !function.launches.empty())) why = Obstacle(function);
  }
  if (best != nullptr) return best;
  if (why.empty()) {
    return Unfit("no __global__ function is defined", "name the file that defines the kernel");
  }
  return Unfit(why, kHowToMend);
}

bool LooksLikeOutput(const std::string& name) {
  const std::string lower = AsciiLower(name);
  for (const char* word : {"out", "result", "dst", "dest"}) {
    if (lower.find(word) != std::string::npos) return true;
  }
  return lower == "y" || lower == "c" || lower == "z" || lower == "o" || lower == "d_c" ||
         lower == "d_y";
}

// Pointers to const are inputs, the others outputs. Where nobody wrote const, names decide, and at
// last the order.
void AssignRoles(const CudaFunction& function, std::vector<GuessedTensor>& tensors) {
  size_t constants = 0;
  size_t at = 0;
  for (const CudaParameter& parameter : function.parameters) {
    if (parameter.pointers == 0) continue;
    tensors[at++].output = !parameter.constant;
    constants += parameter.constant ? 1 : 0;
  }
  if (constants > 0 || tensors.size() < 2) return;
  bool any = false;
  for (GuessedTensor& tensor : tensors) {
    tensor.output = LooksLikeOutput(tensor.name);
    any = any || tensor.output;
  }
  if (!any) tensors.back().output = true;
}

void AddParameters(const CudaFunction& function, Guess& guess) {
  int unnamed = 0;
  for (const CudaParameter& parameter : function.parameters) {
    const std::string name =
        parameter.name.empty() ? "argument" + std::to_string(++unnamed) : parameter.name;
    if (parameter.pointers == 1) {
      guess.tensors.push_back({name, kTensorTypes.at(parameter.element), false, {}});
      guess.arguments.push_back({"tensor", name});
      continue;
    }
    const std::string kind(kScalarTypes.at(parameter.element));
    if (kind == "i32" || kind == "i64") {
      guess.sizes.push_back({name, 0, 0});
      guess.arguments.push_back({kind, name});
    } else {
      guess.arguments.push_back({kind, kind == "f32" || kind == "f64" ? "1.0" : "0"});
    }
  }
}

bool IsProduct(const Guess& guess) {
  std::string names;
  for (const GuessedSize& size : guess.sizes) names += AsciiLower(size.name) + " ";
  const auto inputs = std::count_if(guess.tensors.begin(), guess.tensors.end(),
                                    [](const GuessedTensor& tensor) { return !tensor.output; });
  const auto has = [&](const char* name) { return names.find(name) != std::string::npos; };
  return guess.sizes.size() == 3 && has("m ") && has("n ") && has("k ") && inputs >= 2 &&
         static_cast<size_t>(inputs) < guess.tensors.size();
}

std::string SizeCalled(const Guess& guess, const std::string& lower) {
  for (const GuessedSize& size : guess.sizes) {
    if (AsciiLower(size.name) == lower) return size.name;
  }
  return lower;
}

void ShapeProduct(Guess& guess) {
  const std::string m = SizeCalled(guess, "m"), n = SizeCalled(guess, "n"),
                    k = SizeCalled(guess, "k");
  size_t inputs = 0;
  for (GuessedTensor& tensor : guess.tensors) {
    if (tensor.output) {
      tensor.shape = {m, n};
    } else if (++inputs <= 2) {
      tensor.shape = inputs == 1 ? std::vector{m, k} : std::vector{k, n};
    } else {
      tensor.shape = {n};
    }
  }
  guess.reduction_length = k;
  guess.flops = "2 * " + m + " * " + n + " * " + k;
}

void Shape(Guess& guess) {
  if (guess.sizes.empty()) guess.sizes.push_back({"n", 0, 0});  // the function fixes it itself
  if (IsProduct(guess)) return ShapeProduct(guess);
  std::vector<std::string> all;
  for (const GuessedSize& size : guess.sizes) all.push_back(size.name);
  if (all.size() > 8) all.resize(8);
  for (GuessedTensor& tensor : guess.tensors) tensor.shape = all;
}

// About 16 million elements where one tensor has all sizes; the hidden ones are odd.
void Measure(Guess& guess) {
  constexpr int64_t kOne[][2] = {{16'777'216, 8'388'617}};
  constexpr int64_t kTwo[][2] = {{4096, 2039}, {4096, 3001}};
  constexpr int64_t kThree[][2] = {{1024, 509}, {1024, 767}, {1024, 331}};
  constexpr int64_t kMany[][2] = {{32, 17}, {64, 33}, {56, 29}, {48, 23}};
  for (size_t i = 0; i < guess.sizes.size(); ++i) {
    const auto& pair = guess.sizes.size() == 1   ? kOne[0]
                       : guess.sizes.size() == 2 ? kTwo[i]
                       : guess.sizes.size() == 3 ? kThree[i]
                       : i < 4                   ? kMany[i]
                                                 : kMany[3];
    const bool beyond = i >= 4;  // the rest is small: paddings, strides
    guess.sizes[i].value = beyond ? 1 : pair[0];
    guess.sizes[i].odd_value = beyond ? 1 : pair[1];
  }
  if (guess.sizes.size() != 3 || IsProduct(guess)) return;
  constexpr int64_t kCube[][2] = {{256, 127}, {256, 251}, {256, 131}};
  for (size_t i = 0; i < 3; ++i) {
    guess.sizes[i].value = kCube[i][0];
    guess.sizes[i].odd_value = kCube[i][1];
  }
}

struct FoundLaunch {
  const CudaFunction* host = nullptr;
  const CudaLaunch* launch = nullptr;
};

FoundLaunch FindLaunch(const CudaFile& file, const std::string& kernel) {
  for (const CudaFunction& function : file.functions) {
    for (const CudaLaunch& launch : function.launches) {
      if (launch.kernel == kernel && launch.configuration.size() >= 2) return {&function, &launch};
    }
  }
  return {};
}

// What the launching code calls a size: `f<<<g, b>>>(a, N)` of `f(float* x, int n)`: N is n.
std::map<std::string, std::string> NamesThere(const CudaLaunch& launch,
                                              const std::vector<CudaParameter>& parameters) {
  std::map<std::string, std::string> names;
  for (size_t i = 0; i < std::min(launch.arguments.size(), parameters.size()); ++i) {
    if (parameters[i].pointers == 0) names.emplace(launch.arguments[i], parameters[i].name);
  }
  return names;
}

bool IsSize(const Guess& guess, std::string_view name) {
  return std::any_of(guess.sizes.begin(), guess.sizes.end(),
                     [&](const GuessedSize& size) { return size.name == name; });
}

// The launch in the file, as far as it is whole arithmetic over what the kernel is given.
bool CopyLaunch(const CudaFile& file, const FoundLaunch& found, Guess& guess) {
  const auto names = NamesThere(*found.launch, guess.function->parameters);
  const Meaning meaning = [&](std::string_view name) -> std::optional<std::string> {
    const std::string key(name);
    if (const auto one = names.find(key); one != names.end()) return one->second;
    for (const auto* values : {&found.host->values, &file.values}) {
      if (const auto one = values->find(key); one != values->end()) return one->second;
    }
    return std::nullopt;
  };
  // A size of the kernel's own name, unless the launching code means something else by it.
  const auto is_size = [&](std::string_view name) {
    if (!IsSize(guess, name)) return false;
    const auto one = names.find(std::string(name));
    return one == names.end() || one->second == name;
  };
  const auto& configuration = found.launch->configuration;
  const auto grid = AsExtents(configuration[0], meaning, is_size);
  const auto block = AsExtents(configuration[1], meaning, is_size);
  if (!grid || !block) return false;
  if (configuration.size() > 2) {
    const auto shared = AsExpression(configuration[2], meaning, is_size);
    if (!shared) return false;
    if (*shared != "0") guess.shared_bytes = *shared;
  }
  guess.grid = *grid;
  guess.block = *block;
  return true;
}

// One thread for each element of the first output.
void InventLaunch(Guess& guess) {
  std::string elements;
  for (const GuessedTensor& tensor : guess.tensors) {
    if (!tensor.output || !elements.empty()) continue;
    for (const std::string& extent : tensor.shape) {
      elements += (elements.empty() ? "" : " * ") + extent;
    }
  }
  guess.grid = {"ceil_div(" + elements + ", 256)", "1", "1"};
  guess.block = {"256", "1", "1"};
}

}  // namespace

Result<Guess> GuessTask(const CudaFile& file, const std::string& wanted) {
  Guess guess;
  guess.function = wanted.empty() ? TRY(Choose(file)) : TRY(Wanted(file, wanted));
  AddParameters(*guess.function, guess);
  AssignRoles(*guess.function, guess.tensors);
  const auto is_output = [](const GuessedTensor& tensor) { return tensor.output; };
  if (std::none_of(guess.tensors.begin(), guess.tensors.end(), is_output)) {
    return Unfit("'" + guess.function->name + "' only takes pointers to const: nothing is written",
                 "take const away from the output's pointer");
  }
  Shape(guess);
  Measure(guess);
  if (!guess.function->kernel) return guess;
  const FoundLaunch found = FindLaunch(file, guess.function->name);
  guess.launch_found = found.launch != nullptr && CopyLaunch(file, found, guess);
  if (!guess.launch_found) InventLaunch(guess);
  return guess;
}

}  // namespace warpsmith::task
