// Arithmetic that all families share.
#ifndef WARPSMITH_HGEMM_TILING_H_
#define WARPSMITH_HGEMM_TILING_H_

#include <cstdint>

namespace warpsmith::hgemm {

constexpr int64_t CeilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

// Launches that wait on the SMs for the one ahead (overlap) take places where there is most room,
// that is, many on the few SMs that the one ahead left idle. Shared memory to ask for, so that no
// SM takes more than the even shares of two launches; 0 where many CTAs share an SM anyway. A wrong
// number of SMs would only cost speed.
constexpr int64_t SpreadSharedBytes(int64_t ctas) {
  constexpr int64_t kSms = 132, kSmSharedBytes = 233472, kReservedPerCta = 1024;
  const int64_t an_sm = 2 * CeilDiv(ctas, kSms);
  if (an_sm > 8) return 0;
  return kSmSharedBytes / an_sm / 128 * 128 - kReservedPerCta;
}

}  // namespace warpsmith::hgemm

#endif  // WARPSMITH_HGEMM_TILING_H_
