// Host time. Elapsed times are monotonic; timestamps are UTC, ISO 8601.
#ifndef WARPSMITH_BASE_CLOCK_H_
#define WARPSMITH_BASE_CLOCK_H_

#include <cstdint>
#include <string>

namespace warpsmith {

int64_t MonotonicNs();  // since some moment that stays the same while the machine runs
inline double MonotonicSeconds() { return static_cast<double>(MonotonicNs()) * 1e-9; }
std::string UtcTimestamp();  // 2026-11-21T09:15:02Z

}  // namespace warpsmith

#endif  // WARPSMITH_BASE_CLOCK_H_
