// Arithmetic that all families share.
#ifndef WARPSMITH_HGEMM_TILING_H_
#define WARPSMITH_HGEMM_TILING_H_

#include <cstdint>

namespace warpsmith::hgemm {

constexpr int64_t CeilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

}  // namespace warpsmith::hgemm

#endif  // WARPSMITH_HGEMM_TILING_H_
