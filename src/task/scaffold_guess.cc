#include "task/scaffold_guess.h"

#include <algorithm>
#include <charconv>
#include <string_view>

#include "base/text.h"
#include "base/utf8.h"

namespace warpsmith::task {
namespace {

// The kind whose names ("|int|long|") hold a type as it is written.
template <typename Kind, size_t kCount>
std::optional<Kind> KindOf(const std::pair<Kind, std::string_view> (&kinds)[kCount],
                           const std::string& type) {
  for (const auto& [kind, names] : kinds) {
    if (names.find("|" + type + "|") != names.npos) return kind;
  }
  return std::nullopt;
}

constexpr std::pair<DType, std::string_view> kTensorTypes[] = {
    {DType::kF16, "|half|__half|half2|__half2|"},
    {DType::kBF16, "|nv_bfloat16|__nv_bfloat16|__nv_bfloat162|nv_bfloat162|"},
    {DType::kF32, "|float|float2|float3|float4|void|"},
    {DType::kF64, "|double|double2|double3|double4|"},
    {DType::kI8, "|char|signed char|unsigned char|int8_t|uint8_t|uchar|uchar4|char4|"},
    {DType::kI32, "|int|unsigned int|unsigned|uint|int32_t|uint32_t|int2|int4|uint2|uint4|"},
    {DType::kI64,
     "|long|long long|long int|int64_t|uint64_t|unsigned long|unsigned long long|ulong|size_t|"},
    {DType::kBool, "|bool|"},
};

constexpr std::pair<std::string_view, std::string_view> kScalarTypes[] = {
    {"i32", "|int|unsigned|unsigned int|uint|int32_t|uint32_t|short|"},
    {"i64",
     "|long|long int|long long|long long int|unsigned long|unsigned long "
     "long|size_t|std::size_t|int64_t|uint64_t|std::int64_t|ptrdiff_t|"},
    {"f32", "|float|"},
    {"f64", "|double|"},
    {"bool", "|bool|"},
    {"none", "|cudaStream_t|CUstream|"},
};

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
                           ? KindOf(kScalarTypes, parameter.element).has_value()
                           : parameter.pointers == 1 && TensorType(parameter.element);
    const bool stream = KindOf(kScalarTypes, parameter.element) == "none";
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
  const std::string names = Joined(file.functions, ", ", &CudaFunction::name);
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
  std::string kernel, host;  // why they will not do
  for (const CudaFunction& function : file.functions) {
    const int rank = Rank(function);
    if (rank > 0 && (best == nullptr || rank >= Rank(*best))) best = &function;
    if (rank > 0 || function.name == "main") continue;
    if (function.kernel || !function.launches.empty()) {
      (function.kernel ? kernel : host) = Obstacle(function);
    }
  }
  if (best != nullptr) return best;
  if (kernel.empty() && host.empty()) {
    return Unfit("no __global__ function is defined", "name the file that defines the kernel");
  }
  return Unfit(kernel + (kernel.empty() || host.empty() ? "" : ", and ") + host, kHowToMend);
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

void AddParameters(const CudaFile& file, Guess& guess) {
  const std::vector<CudaParameter>& parameters = guess.function->parameters;
  const std::vector<LaunchConstant> constants = ConstantArguments(file, *guess.function);
  const auto kind_of = [&](size_t i) -> std::string {
    return std::string(parameters[i].pointers == 1 ? "tensor"
                                                   : *KindOf(kScalarTypes, parameters[i].element));
  };
  // A small literal is a mode, a radius or a stride: no size, where another parameter is one.
  bool others = false;
  for (size_t i = 0; i < parameters.size(); ++i) {
    others = others || (kind_of(i).front() == 'i' && !constants[i].small);
  }
  int unnamed = 0;
  for (size_t i = 0; i < parameters.size(); ++i) {
    const auto& [constant, small] = constants[i];
    const std::string kind = kind_of(i);
    const std::string name =
        parameters[i].name.empty() ? "argument" + std::to_string(++unnamed) : parameters[i].name;
    if (kind == "tensor") {
      guess.tensors.push_back({name, *TensorType(parameters[i].element), false, {}});
      guess.arguments.push_back({kind, name});
    } else if (kind.front() == 'i' && !(small && others)) {
      GuessedSize size{name, 0, 0};
      std::from_chars(constant.data(), constant.data() + constant.size(), size.value);
      guess.sizes.push_back(size);
      guess.arguments.push_back({kind, name});
    } else {
      const bool real = kind.front() == 'f';
      const bool point = constant.find_first_of(".e") != constant.npos;
      guess.arguments.push_back({kind,
                                 constant.empty()   ? (real ? "1.0" : "0")
                                 : kind == "bool"   ? (constant == "0" ? "0" : "1")
                                 : (real && !point) ? constant + ".0"
                                                    : constant,
                                 constant.empty() && kind != "none"});
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
  constexpr double kMostElements = 1 << 28;
  constexpr int64_t kOne[][2] = {{16'777'216, 8'388'617}};
  constexpr int64_t kTwo[][2] = {{4096, 2039}, {4096, 3001}};
  constexpr int64_t kProduct[][2] = {{1024, 509}, {1024, 767}, {1024, 331}};
  constexpr int64_t kThree[][2] = {{256, 127}, {256, 251}, {256, 131}};
  constexpr int64_t kMany[][2] = {{32, 17}, {64, 33}, {56, 29}, {48, 23}};
  const size_t count = guess.sizes.size();
  const auto* pairs = count == 1         ? kOne
                      : count == 2       ? kTwo
                      : IsProduct(guess) ? kProduct
                      : count == 3       ? kThree
                                         : kMany;
  // What the launch gives, unless that is too much for a try. From the fifth on those that it does
  // not give are small: paddings, strides.
  const auto guessed = [&](size_t i, int which) { return i < 4 ? pairs[i][which] : 1; };
  double elements = 1;
  for (size_t i = 0; i < count; ++i) {
    elements *=
        static_cast<double>(guess.sizes[i].value > 1 ? guess.sizes[i].value : guessed(i, 0));
  }
  for (size_t i = 0; i < count; ++i) {
    GuessedSize& size = guess.sizes[i];
    const bool given = size.value > 1 && elements <= kMostElements;
    const int64_t half = size.value < 32 ? size.value : size.value / 2 | 1;
    size.odd_value = given ? half : guessed(i, 1);
    if (!given) size.value = guessed(i, 0);
  }
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

std::optional<DType> TensorType(const std::string& type) { return KindOf(kTensorTypes, type); }

Result<Guess> GuessTask(const CudaFile& file, const std::string& wanted) {
  Guess guess;
  guess.function = wanted.empty() ? TRY(Choose(file)) : TRY(Wanted(file, wanted));
  AddParameters(file, guess);
  AssignRoles(*guess.function, guess.tensors);
  const auto is_output = [](const GuessedTensor& tensor) { return tensor.output; };
  if (std::none_of(guess.tensors.begin(), guess.tensors.end(), is_output)) {
    return Unfit("'" + guess.function->name + "' only takes pointers to const: nothing is written",
                 "take const away from the output's pointer");
  }
  Shape(guess);
  Measure(guess);
  if (!guess.function->kernel) return guess;
  CopyLaunch(file, guess);
  if (guess.launched_by.empty()) InventLaunch(guess);
  return guess;
}

}  // namespace warpsmith::task
