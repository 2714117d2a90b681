#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "task/scaffold_guess.h"

namespace warpsmith::task {
namespace {

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

// Every index of the body, and what its names stand for.
std::vector<std::string> TextsOf(const CudaFunction& function) {
  std::vector<std::string> texts;
  for (const auto& [name, index] : function.subscripts) texts.push_back(index);
  for (const auto& [name, value] : function.values) {
    texts.push_back(value);
    std::erase(texts.back(), ' ');
  }
  return texts;
}

// The size that an index runs to: n of "i%n" and, where another index is "row*n+col", of "col"; the
// other one of two sizes of "row".
std::optional<std::string> ExtentOf(const std::string& index, const Guess& guess,
                                    const std::vector<std::string>& texts) {
  const auto value = guess.function->values.find(index);
  const auto& sizes = guess.sizes;
  for (size_t i = 0; i < sizes.size(); ++i) {
    const std::string& size = sizes[i].name;
    for (const std::string& means :
         {index, value == guess.function->values.end() ? "" : value->second}) {
      if (means.ends_with("%" + size)) return size;
    }
    for (const std::string& text : texts) {
      if (text.ends_with("*" + size + "+" + index)) return size;
      if (sizes.size() == 2 && text.starts_with(index + "*" + size + "+")) return sizes[1 - i].name;
    }
  }
  return std::nullopt;
}

// One size, if all indices of the tensor run to the same one.
std::optional<std::string> OnlySizeOf(const GuessedTensor& tensor, const Guess& guess,
                                      const std::vector<std::string>& texts) {
  std::optional<std::string> only;
  for (const auto& [name, index] : guess.function->subscripts) {
    if (name != tensor.name) continue;
    const auto extent = ExtentOf(index, guess, texts);
    if (!extent || (only && *only != *extent)) return std::nullopt;
    only = extent;
  }
  return only;
}

}  // namespace

bool IsProduct(const Guess& guess) {
  std::string names;
  for (const GuessedSize& size : guess.sizes) names += AsciiLower(size.name) + " ";
  const auto inputs = std::count_if(guess.tensors.begin(), guess.tensors.end(),
                                    [](const GuessedTensor& tensor) { return !tensor.output; });
  const auto has = [&](const char* name) { return names.find(name) != std::string::npos; };
  return guess.sizes.size() == 3 && has("m ") && has("n ") && has("k ") && inputs >= 2 &&
         static_cast<size_t>(inputs) < guess.tensors.size();
}

void ShapeTensors(Guess& guess) {
  if (guess.sizes.empty()) guess.sizes.push_back({"n", 0, 0});  // the function fixes it itself
  if (IsProduct(guess)) return ShapeProduct(guess);
  std::vector<std::string> all;
  for (const GuessedSize& size : guess.sizes) all.push_back(size.name);
  if (all.size() > 8) all.resize(8);
  const std::vector<std::string> texts = TextsOf(*guess.function);
  for (GuessedTensor& tensor : guess.tensors) {
    const auto only = OnlySizeOf(tensor, guess, texts);
    tensor.shape = only ? std::vector{*only} : all;
  }
}

}  // namespace warpsmith::task
