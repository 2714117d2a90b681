// What a stand-alone run reads: reproducible contents made on the host, one tensor at a time.
#ifndef WARPSMITH_JUDGE_STANDALONE_CONTENTS_H_
#define WARPSMITH_JUDGE_STANDALONE_CONTENTS_H_

#include <cstdint>
#include <string>

#include "base/result.h"
#include "core/task.h"

namespace warpsmith::standalone {

// After so many elements drawn contents repeat: what a sanitizer or a profiler sees does not depend
// on more, and a gigabyte of normal numbers takes minutes. A prime, so that rows differ.
inline constexpr int64_t kDistinctElements = 1'000'003;

// `elements` values of an input as the device sees them. kReference contents, which only the
// reference can draw, become numbers that no kernel trips over: zeros where the type is an integer
// (they may be indices), N(0, 1) elsewhere. kBadInput where the generator's bounds do not evaluate.
Result<std::string> MakeContents(const TensorSpec& tensor, const Sizes& sizes, int64_t elements,
                                 uint64_t seed);

// IEEE binary16 and bfloat16, rounded to nearest even; too large values become infinities.
uint16_t HalfBits(float value);
uint16_t BFloat16Bits(float value);

}  // namespace warpsmith::standalone

#endif  // WARPSMITH_JUDGE_STANDALONE_CONTENTS_H_
