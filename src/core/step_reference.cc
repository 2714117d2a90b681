#include "core/step_reference.h"

#include <charconv>

namespace warpsmith {
namespace {

constexpr std::string_view kRunPrefix = "run:";

}  // namespace

std::string TextOf(const StepReference& reference) {
  return std::string(kRunPrefix) + reference.run + "#" + std::to_string(reference.index);
}

std::optional<StepReference> StepReferenceFrom(std::string_view text) {
  const size_t hash = text.rfind('#');
  if (!text.starts_with(kRunPrefix) || hash == text.npos) return std::nullopt;
  StepReference reference;
  const char* const end = text.data() + text.size();
  const auto [stopped, failed] = std::from_chars(text.data() + hash + 1, end, reference.index);
  if (failed != std::errc() || stopped != end || reference.index < 0) return std::nullopt;
  reference.run = text.substr(kRunPrefix.size(), hash - kRunPrefix.size());
  return reference;
}

}  // namespace warpsmith
