// Where the file calls the task's function from, and what it gives it there: the grid, sizes, memory.
#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "base/text.h"
#include "core/cuda_tokens.h"
#include "task/scaffold_guess.h"

namespace warpsmith::task {
namespace {

constexpr size_t kMostLaunches = 8;  // that are tried
constexpr size_t kMostScopes = 16;   // functions on the way to the launch

using FoundLaunch = std::pair<const CudaFunction*, const CudaLaunch*>;  // the host's and it

// The first of them.
std::vector<FoundLaunch> LaunchesOf(const CudaFile& file, const std::string& kernel) {
  std::vector<FoundLaunch> found;
  for (const CudaFunction& function : file.functions) {
    for (const CudaLaunch& launch : function.launches) {
      const bool its = launch.kernel == kernel && launch.configuration.size() >= 2;
      if (its && found.size() < kMostLaunches) found.emplace_back(&function, &launch);
    }
  }
  return found;
}

bool IsSizeOf(const Guess& guess, const std::string& word) {
  return std::ranges::count(guess.sizes, word, &GuessedSize::name) > 0;
}

// Code of a host function, at an offset, in the task's sizes; `axis` of x, y, z, if it is a dim3.
// `open`: a name that means nothing there becomes a size, too.
std::optional<std::string> InScope(const CudaFile& file, const Guess& guess, CallingScope& scope,
                                   size_t offset, bool open, const std::string& text,
                                   std::optional<size_t> axis = {}) {
  const Meaning there = MeaningAt(file, *scope.function, offset);
  const Meaning meaning = [&](const std::string& name) {
    const auto one = scope.names.find(name);
    return one == scope.names.end() ? there(name) : std::optional(one->second);
  };
  std::set<std::string> tried;  // names that are under way, or mean something
  // A size of the task's own name, unless the code means something else by it.
  const IsSize is_size = [&](std::string_view word) {
    const std::string name(word);
    const auto one = scope.names.find(name);
    if (one != scope.names.end()) return one->second == name;
    const auto means = there(name);
    if (!means && IsSizeOf(guess, name)) return true;
    if (!open || !tried.insert(name).second) return false;
    const bool triple = means && (means->starts_with("dim3") || means->starts_with("{"));
    if (triple || (means && AsExpression(*means, meaning, is_size))) return false;
    std::string fresh = name;
    while (IsReserved(fresh) ||
           std::ranges::count(guess.arguments, fresh, &GuessedArgument::value) > 0)
      fresh += "_";
    scope.names[name] = scope.names[fresh] = fresh;
    return fresh == name;
  };
  return axis ? AsExtent(text, *axis, meaning, is_size) : AsExpression(text, meaning, is_size);
}

// What is not a size yet becomes one.
void AddSizesOf(const std::string& expression, Guess& guess) {
  for (const std::string& word : WordsIn(expression)) {
    if (!IsSizeOf(guess, word)) guess.sizes.push_back({word});
  }
}

bool CopyOne(const CudaFile& file, CallingScope& scope, const CudaLaunch& launch, bool open,
             Guess& guess) {
  LaunchExtents extents;
  const auto read = [&](size_t i) {
    const std::string& text = launch.configuration[i / 3];
    extents[i] = InScope(file, guess, scope, launch.offset, open, text, i % 3).value_or("");
    return !extents[i].empty();
  };
  for (size_t i = 3; i < 6; ++i) {  // the block first: where it is not known, the grid needs ours
    if (!read(i) && !open) return false;
  }
  const std::string edge = extents[4] == "1" ? "256" : "16";
  for (size_t i = 3; i < 6; ++i) {
    for (const std::string& word : WordsIn(extents[i])) {
      if (IsSizeOf(guess, word) || std::exchange(scope.names[word], edge) == edge) continue;
      guess.replaced += word + " = " + edge + " (current/candidate.toml), ";
    }
    if (!read(i)) extents[i] = i == 3 ? edge : "1";
  }
  size_t unread = 0;
  for (size_t i = 0; i < 3; ++i) {
    if (read(i)) continue;
    if (!open || ++unread > 1) return false;
    extents[i] = std::string("grid_") + "xyz"[i];
  }
  if (launch.configuration.size() > 2) {
    const std::string& bytes = launch.configuration[2];
    const auto shared = InScope(file, guess, scope, launch.offset, false, bytes);
    if (shared != "0") guess.shared_bytes = shared.value_or("");
    if (!shared) guess.unread_shared = bytes;
  }
  AddSizesOf(Joined(extents) + "," + guess.shared_bytes, guess);
  std::copy_n(extents.begin(), 3, guess.grid.begin());
  std::copy_n(extents.begin() + 3, 3, guess.block.begin());
  guess.launched_by = scope.function->name;
  return true;
}

}  // namespace

std::string PointerIn(const std::string& text) {
  const TokenList list = Tokenize(text);
  size_t i = 0;
  while (list.Is(i, "&") || list.Is(i, "*") || list.Is(i, "(")) {
    i = list.Is(i, "(") && list.closing[i] + 1 < list.size() ? list.closing[i] + 1 : i + 1;
  }
  const size_t begin = i;
  while (i < list.size() && std::string_view("[+)").find(list[i].text) == text.npos) ++i;
  return Joined(list, begin, i);
}

std::vector<LaunchArgument> LaunchArguments(const CudaFile& file, const CudaFunction& kernel) {
  std::vector<LaunchArgument> given(kernel.parameters.size());
  for (const auto& [host, launch] : LaunchesOf(file, kernel.name)) {
    if (launch->arguments.size() != given.size()) continue;
    const Meaning meaning = MeaningAt(file, *host, launch->offset);
    for (size_t i = 0; i < given.size(); ++i) {
      const std::string& text = launch->arguments[i];
      const std::string value = ConstantOf(text, meaning, kernel.parameters[i].element);
      const bool literal = text.find_first_of("0123456789") <= 1;  // "8", "-1"
      given[i] = {IsIdentifier(text) ? text : "", value,
                  literal && std::strtod(value.c_str(), nullptr) < 32};
    }
    break;
  }
  return given;
}

void FindScopes(const CudaFile& file, Guess& guess) {
  auto& scopes = guess.scopes = {{guess.function, {}}};
  for (size_t i = 0; i < guess.arguments.size(); ++i) {
    const auto& [kind, value, invented] = guess.arguments[i];
    const std::string& name = guess.function->parameters[i].name;
    if (kind == "tensor") scopes[0].names.emplace(name + "[" + value + "]", value);
    if (kind[0] == 'i') scopes[0].names.emplace(name, value);
  }
  const Meaning none = [](const std::string&) { return std::nullopt; };
  const IsSize any = [](std::string_view) { return true; };
  for (size_t callee = 0; callee < scopes.size(); ++callee) {
    const CudaFunction& called = *scopes[callee].function;
    for (const CudaFunction& host : file.functions) {
      const auto& calls = called.kernel ? host.launches : host.calls;
      // The first alone: another call may give other tensors.
      const auto call = std::ranges::find(calls, called.name, &CudaLaunch::kernel);
      if (call == calls.end() || scopes.size() == kMostScopes) continue;
      auto scope = std::ranges::find(scopes, &host, &CallingScope::function);
      if (scope == scopes.end()) scope = scopes.insert(scope, {&host, {}});
      auto& names = scopes[callee].names;
      for (size_t i = 0; i < std::min(call->arguments.size(), called.parameters.size()); ++i) {
        const std::string& text = call->arguments[i];
        const std::string value = ConstantOf(text, MeaningAt(file, host, call->offset), "int");
        const std::string& parameter = called.parameters[i].name;
        bool known = false;
        for (const auto& [there, own] : std::map(names)) {
          const bool pointer = there.starts_with(parameter + "[");
          const auto size = std::ranges::find(guess.sizes, own, &GuessedSize::name);
          if (!pointer && there != parameter) continue;
          known = true;
          if (size != guess.sizes.end() && size->value == 0)
            size->value = std::strtoll(value.c_str(), nullptr, 10);
          scope->names.emplace(pointer ? PointerIn(text) + "[" + own + "]"
                                       : AsExpression(text, none, any).value_or(text),
                               own);
        }
        if (!known && !value.empty()) names.emplace(parameter, value);
      }
    }
  }
}

LaunchExtents ExtentsOf(const CudaFile& file, Guess& guess, const CudaLaunch& launch) {
  LaunchExtents extents;
  for (size_t i = 0; i < 6 && launch.configuration.size() > 1; ++i) {
    const std::string& text = launch.configuration[i / 3];
    extents[i] =
        InScope(file, guess, guess.scopes[0], launch.offset, false, text, i % 3).value_or("");
  }
  return extents;
}

void ReadAllocations(const CudaFile& file, Guess& guess) {
  for (const CudaFunction& function : file.functions) {
    // In a function that calls none, a pointer of the whole file may be given memory.
    const auto own = std::ranges::find(guess.scopes, &function, &CallingScope::function);
    for (const CudaLaunch& call : function.calls) {
      const bool device = call.kernel == "cudaMalloc" || call.kernel == "cudaMallocManaged" ||
                          call.kernel == "cudaMallocAsync";
      for (size_t n = device && call.arguments.size() > 1 ? 0 : guess.scopes.size();
           n < guess.scopes.size(); ++n) {
        if (own == guess.scopes.end() ? n == 0 : &*own != &guess.scopes[n]) continue;
        CallingScope scope{&function, guess.scopes[n].names};
        for (const auto& [text, name] : guess.scopes[n].names) {
          const auto tensor = std::ranges::find(guess.tensors, name, &GuessedTensor::name);
          if (tensor == guess.tensors.end() || !tensor->bytes.empty() ||
              !text.starts_with(PointerIn(call.arguments[0]) + "["))
            continue;
          const auto bytes = InScope(file, guess, scope, call.offset, true, call.arguments[1]);
          // "bytes", and nothing else, says as little as the indices.
          const bool product =
              bytes && (bytes->find('*') != bytes->npos || WordsIn(*bytes).empty());
          tensor->bytes = product ? *bytes : "";
          AddSizesOf(tensor->bytes, guess);
        }
      }
    }
  }
}

void CopyLaunch(const CudaFile& file, Guess& guess) {
  for (const bool open : {false, true}) {
    for (const auto& [host, launch] : LaunchesOf(file, guess.function->name)) {
      const auto scope = std::ranges::find(guess.scopes, host, &CallingScope::function);
      if (scope != guess.scopes.end() && CopyOne(file, *scope, *launch, open, guess)) return;
    }
  }
}

}  // namespace warpsmith::task
