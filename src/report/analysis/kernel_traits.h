// What a kernel's configuration comes to, in terms that hold for every family: its tile, its ring
// of stages, how CTAs share K, how they walk over C.
#ifndef WARPSMITH_REPORT_ANALYSIS_KERNEL_TRAITS_H_
#define WARPSMITH_REPORT_ANALYSIS_KERNEL_TRAITS_H_

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/space.h"

namespace warpsmith::analysis {

struct TraitValue {
  std::string text;  // "128 x 256"
  double order = 0;  // sorts a trait's values; equal texts have equal orders
  bool operator==(const TraitValue&) const = default;
};

struct Trait {
  std::string_view name;   // "tile"
  std::string_view title;  // "Tile of a CTA"
  std::string_view about;  // what it is, in a sentence
  // What kernels do whose order is above `plain`: "share a tile's K between CTAs". Empty where the
  // trait is no matter of more or less.
  std::string_view use;
  double plain = 0;
  bool ordered = true;  // neighbouring orders are alike: drawn as shades of one colour
  // Nullopt where the family has nothing of the kind.
  std::optional<TraitValue> (*of)(const Point&);
};
std::span<const Trait> Traits();

// A number of a configuration that can rise and fall with a shape's sizes.
struct Quantity {
  std::string_view name;   // "tile rows"
  std::string_view trait;  // under which trait's heading it belongs
  std::optional<double> (*of)(const Point&);
};
std::span<const Quantity> Quantities();

}  // namespace warpsmith::analysis

#endif  // WARPSMITH_REPORT_ANALYSIS_KERNEL_TRAITS_H_
