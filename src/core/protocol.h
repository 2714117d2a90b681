// How a candidate is judged: what is measured, how often, how sure. docs/judge-protocol.md.
#ifndef WARPSMITH_CORE_PROTOCOL_H_
#define WARPSMITH_CORE_PROTOCOL_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/form.h"

namespace warpsmith {

inline constexpr int kJudgeProtocolVersion = 1;
// Of what a program's time is. 2: without the oracle's looks within a burst; 3: nor its moves;
// 4: neither holds up the next call.
inline constexpr int kWallVersion = 4;

enum class Mode : uint8_t {
  kDeviceHot,   // graph replay, inputs in L2
  kDeviceCold,  // graph replay, nothing in L2
  kOffline,     // back to back on a stream
  kServer,      // single calls after random idle, cold, on the host's clock
  kWall,        // programs: calls one after another, each to its end, on the oracle's clock
};
std::string_view Name(Mode mode);  // "device", "device-cold", "offline", "server"
std::optional<Mode> ModeFromName(std::string_view name);

enum class Level : uint8_t { kScreened, kCertified };
std::string_view Name(Level level);

struct Protocol {
  Level level = Level::kScreened;
  std::vector<Mode> modes = {Mode::kDeviceHot};
  int rounds = 3;               // candidate and baselines interleave in random order in each
  int samples_per_round = 2;    // batches of each contender a round
  int runner_processes = 1;     // rounds are spread over this many fresh runners
  bool renew_contents = false;  // new inputs, addresses and references for every runner process
  bool every_baseline = false;  // when screening, too: else it compares with the bar alone
  double confidence = 0.99;     // of every interval
  double band = 0.01;           // +-delta within which two times are "the same"
  double target_half_width =
      0;  // > 0: rounds are added (to max_rounds) until the interval is so narrow
  int max_rounds = 3;
  double warmup_seconds = 0;         // paper protocol
  double measure_seconds = 0;        // > 0: rounds go on at least this long
  int64_t step_timeout_ms = 10'000;  // any single command to the runner

  static Protocol Screened();   // the hot graph alone, three rounds, one process: for searching
  static Protocol Certified();  // every mode of kernels, fresh data and processes, up to 24 rounds
  static Protocol Paper();      // CUDA-L2: 10 s warm-up, >= 30 s measured, random order

  // The same, for candidates of this form: a program has one mode, kWall, a fresh process for every
  // round, and a minute for a step (its set-up may compile or allocate).
  Protocol For(Form form) const;
};

// Text that is equal for equal protocols; part of every measurement's key.
std::string ProtocolId(const Protocol& protocol);

}  // namespace warpsmith

#endif  // WARPSMITH_CORE_PROTOCOL_H_
