#include "task/scaffold_guess.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <numeric>
#include <set>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "core/expression.h"

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

// The reference is Python, and its parameters have the kernel's names.
const std::set<std::string_view> kPythonsWords = {
    "False",    "None",   "True",    "as",    "assert",    "async",  "await", "def",  "del",
    "elif",     "except", "finally", "from",  "global",    "import", "in",    "is",   "lambda",
    "nonlocal", "pass",   "print",   "raise", "reference", "torch",  "with",  "yield"};

// What the task calls the parameters.
std::vector<std::string> NamesOf(const CudaFunction& function) {
  std::vector<std::string> names;
  for (const CudaParameter& parameter : function.parameters) names.push_back(parameter.name);
  size_t unnamed = 0;
  for (std::string& name : names) {
    if (name.empty()) name = "argument" + std::to_string(++unnamed);
    while (IsReserved(name) || std::ranges::count(names, name) > 1) name += "_";
  }
  return names;
}

void AddParameters(const CudaFile& file, Guess& guess) {
  const std::vector<CudaParameter>& parameters = guess.function->parameters;
  const std::vector<LaunchArgument> given = LaunchArguments(file, *guess.function);
  const auto kind_of = [&](size_t i) -> std::string {
    return std::string(parameters[i].pointers == 1 ? "tensor"
                                                   : *KindOf(kScalarTypes, parameters[i].element));
  };
  // A small literal is a mode, a radius or a stride: no size, where another parameter is one.
  bool others = false;
  for (size_t i = 0; i < parameters.size(); ++i) {
    others = others || (kind_of(i).front() == 'i' && !given[i].small);
  }
  const std::vector<std::string> names = NamesOf(*guess.function);
  std::map<std::string, std::string> sizes_there;  // what the launch calls them
  for (size_t i = 0; i < parameters.size(); ++i) {
    const std::string& constant = given[i].value;
    const std::string kind = kind_of(i);
    const std::string& name = names[i];
    if (kind == "tensor") {
      guess.tensors.push_back({name, *TensorType(parameters[i].element), false, {}});
      guess.arguments.push_back({kind, name});
    } else if (kind.front() == 'i' && !(given[i].small && others)) {
      // The same argument of the launch is the same size.
      const std::string there = given[i].name.empty() ? " " + name : given[i].name;
      const auto [same, first] = sizes_there.emplace(there, name);
      GuessedSize size{name};
      std::from_chars(constant.data(), constant.data() + constant.size(), size.value);
      if (first) guess.sizes.push_back(size);
      guess.arguments.push_back({kind, same->second});
    } else {
      const std::string invented = kind.front() == 'f' ? "1.0" : "0";
      const std::string value = kind == "bool" && constant != "0" ? "1" : constant;
      guess.arguments.push_back(
          {kind, constant.empty() ? invented : value, constant.empty() && kind != "none"});
    }
  }
}

constexpr double kMostElements = 1 << 29;

// Of the largest tensor; 0 where one has none.
double MostElements(const Guess& guess, const Sizes& sizes) {
  double most = 1;
  for (const GuessedTensor& tensor : guess.tensors) {
    double all = 1;
    for (const std::string& extent : tensor.shape) {
      const int64_t value = ValueOf(extent, sizes).value_or(0);
      if (value < 1) return 0;
      all *= static_cast<double>(value);
    }
    most = std::max(most, all);
  }
  return most;
}

// What the launch gives, unless that is too much for a try; else about 16 million elements for the
// largest tensor. The hidden sizes are odd, or multiples of a block where a kernel needs whole ones.
// What is no extent, a step or a padding, is small.
void Measure(Guess& guess) {
  constexpr int64_t kDefaults[] = {1, 16'777'216, 4096, 256, 64, 32, 16, 8, 8};
  size_t rank = 1;
  const std::set<std::string> in_grid = WordsIn(Joined(guess.grid));
  std::set<std::string> extents, blocks = in_grid;
  for (const CudaLaunch& launch : guess.function->launches) {
    if (launch.configuration.size() > 1) blocks.merge(WordsIn(launch.configuration[1]));
  }
  for (const GuessedTensor& tensor : guess.tensors) {
    std::set<std::string> named = WordsIn(Joined(tensor.shape));
    rank = std::clamp<size_t>(named.size(), rank, 8);
    extents.merge(named);
  }
  Sizes sizes;
  for (GuessedSize& size : guess.sizes) {
    size.invented = size.value < 2;
    const int64_t extent = kDefaults[rank] / (guess.flops.empty() ? 1 : 4);
    const int64_t other = blocks.contains(size.name) ? 256 : 1;
    if (size.invented) size.value = extents.contains(size.name) ? extent : other;
    sizes[size.name] = size.value;
  }
  if (MostElements(guess, sizes) < 1) {  // n - m + 1 is too few where m is larger
    for (GuessedTensor& one : guess.tensors)
      one.shape = {guess.sizes.empty() ? "1" : guess.sizes[0].name};
  }
  for (int64_t largest = 2; largest > 1 && MostElements(guess, sizes) > kMostElements;) {
    const auto of = [&](const auto& one) { return extents.contains(one.name) ? one.value : 0; };
    GuessedSize& size = *std::ranges::max_element(guess.sizes, {}, of);
    largest = of(size);
    size.invented = true;
    sizes[size.name] = size.value = std::max<int64_t>(size.value / 2, 1);
  }
  int64_t edge = 1;
  for (const std::string& extent : guess.block)
    edge = std::max(edge, ValueOf(extent, {}).value_or(1));
  const auto grid = [&] {
    return Joined(guess.grid, ",", [&](const std::string& one) {
      return std::to_string(ValueOf(one, sizes).value_or(0));
    });
  };
  for (GuessedSize& size : guess.sizes) {
    const int64_t half = sizes[size.name] = size.value / 2 / edge * edge;
    const std::string before = grid();
    ++sizes[size.name];
    // A grid of n / 256 blocks leaves a remainder out.
    const bool floors = in_grid.contains(size.name) && grid() == before;
    const bool whole = guess.whole || floors,
               moves = extents.contains(size.name) && (size.invented || size.value > 31);
    if (moves && !whole)
      size.odd_value = size.value / 2 | 1;
    else
      size.odd_value = moves && half > 0 && size.value % edge == 0 ? half : size.value;
    guess.rounded |= moves && whole;
    sizes[size.name] = size.odd_value;
  }
  if (MostElements(guess, sizes) > 0) return;
  for (GuessedSize& size : guess.sizes) size.odd_value = size.value;
}

// One thread for each element of the output with the most extents.
void InventLaunch(Guess& guess) {
  const GuessedTensor* most = nullptr;
  for (const GuessedTensor& one : guess.tensors) {
    if (one.output && (most == nullptr || one.shape.size() > most->shape.size())) most = &one;
  }
  if (guess.launched_by.empty()) guess.block = {"256", "1", "1"};
  auto threads = std::vector(guess.block.begin(), guess.block.end());
  std::erase(threads, "1");
  guess.grid = {"ceil_div(" + Joined(most->shape, " * ") + ", " +
                    (threads.empty() ? "1" : Joined(threads, " * ")) + ")",
                "1", "1"};
}

// A size in no extent is none; so is what the launch calls "blocks", where nothing else is so many.
void DropUnused(Guess& guess) {
  std::string text = Joined(guess.arguments, ", ", &GuessedArgument::value);
  for (const GuessedTensor& tensor : guess.tensors) text += "," + Joined(tensor.shape);
  const bool lone = std::ranges::count(guess.sizes, guess.grid[0], &GuessedSize::name) > 0 &&
                    !WordsIn(text).contains(guess.grid[0]) && guess.grid[1] + guess.grid[2] == "11";
  if (lone) {
    guess.replaced += guess.grid[0] + " = one thread an element (current/candidate.toml), ";
    InventLaunch(guess);
  }
  text += "," + Joined(guess.grid) + "," + Joined(guess.block) + "," + guess.shared_bytes;
  const std::set<std::string> used = WordsIn(text);
  std::erase_if(guess.sizes, [&](const GuessedSize& size) { return !used.contains(size.name); });
}

}  // namespace

bool IsReserved(const std::string& name) { return kPythonsWords.contains(name); }
std::optional<DType> TensorType(const std::string& type) { return KindOf(kTensorTypes, type); }

Result<Guess> GuessTask(const CudaFile& file, const std::string& wanted) {
  Guess guess;
  guess.function = wanted.empty() ? TRY(Choose(file)) : TRY(Wanted(file, wanted));
  for (const CudaFunction& one : file.functions) {
    const char* const option = guess.others.empty() ? "--function " : ", --function ";
    if (&one != guess.function && Rank(one) > 0) guess.others += option + one.name;
  }
  AddParameters(file, guess);
  FindScopes(file, guess);
  if (guess.function->kernel) CopyLaunch(file, guess);
  ReadAllocations(file, guess);
  const bool unknown = std::ranges::count(guess.tensors, "", &GuessedTensor::bytes) > 0;
  if (guess.sizes.empty() && unknown) guess.sizes.push_back({"n"});  // the function fixes it itself
  ShapeTensors(file, guess);
  if (std::ranges::none_of(guess.tensors, &GuessedTensor::output)) {
    return Unfit("'" + guess.function->name + "' only takes pointers to const: nothing is written",
                 "take const away from the output's pointer");
  }
  if (guess.function->kernel && guess.launched_by.empty()) InventLaunch(guess);
  DropUnused(guess);
  Measure(guess);
  std::tie(guess.past_end, guess.unreached) = ReachOf(file, guess, &GuessedSize::value);
  for (const bool halves : {true, false}) {  // where the sizes shown fit, hidden ones must, too
    if (!guess.past_end.empty() || ReachOf(file, guess, &GuessedSize::odd_value).first.empty())
      break;
    for (GuessedSize& size : guess.sizes) {
      if (size.odd_value == size.value) continue;
      size.odd_value = halves ? size.value / 2 : size.value;
      guess.rounded = halves;
    }
  }
  return guess;
}

}  // namespace warpsmith::task
