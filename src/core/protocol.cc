#include "core/protocol.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>

#include "base/text.h"

namespace warpsmith {
namespace {

// Of kernels; a program's only mode is kWall.
constexpr std::array<Mode, 4> kModeNames = {Mode::kDeviceHot, Mode::kDeviceCold, Mode::kOffline,
                                            Mode::kServer};

std::string Shortest(double value) {
  std::array<char, 32> text{};
  const auto result = std::to_chars(text.data(), text.data() + text.size(), value);
  return {text.data(), result.ptr};
}

}  // namespace

std::string_view Name(Mode mode) {
  switch (mode) {
    case Mode::kDeviceHot:
      return "device";
    case Mode::kDeviceCold:
      return "device-cold";
    case Mode::kOffline:
      return "offline";
    case Mode::kServer:
      return "server";
    case Mode::kWall:
      return "wall";
  }
  std::abort();
}

std::optional<Mode> ModeFromName(std::string_view name) {
  for (const Mode mode : kModeNames) {
    if (Name(mode) == name) return mode;
  }
  if (name == Name(Mode::kWall)) return Mode::kWall;
  return std::nullopt;
}

std::string_view Name(Level level) { return level == Level::kScreened ? "screened" : "certified"; }

Protocol Protocol::Screened() { return {}; }

Protocol Protocol::Certified() {
  Protocol protocol;
  protocol.level = Level::kCertified;
  protocol.modes = {kModeNames.begin(), kModeNames.end()};
  protocol.rounds = 6;
  protocol.samples_per_round = 3;
  protocol.runner_processes = 3;
  protocol.renew_contents = true;
  protocol.target_half_width = 0.01;
  protocol.max_rounds = 24;
  return protocol;
}

Protocol Protocol::Paper() {
  Protocol protocol = Certified();
  protocol.modes = {Mode::kOffline, Mode::kServer};
  protocol.warmup_seconds = 10;
  protocol.measure_seconds = 30;
  return protocol;
}

Protocol Protocol::For(Form form) const {
  if (form == Form::kKernel) return *this;
  Protocol protocol = *this;
  protocol.modes = {Mode::kWall};
  protocol.samples_per_round = 2;
  protocol.runner_processes = 1;
  protocol.step_timeout_ms = 60'000;
  if (level == Level::kCertified) return protocol;
  // Host code differs more from process to process than a kernel does from launch to launch: three
  // rounds can leave a ratio open by a factor of ten.
  protocol.target_half_width = 0.15;
  protocol.max_rounds = 8;
  return protocol;
}

// What has its default meaning of "none" is left out, so that a new kind of step changes no old id.
std::string ProtocolId(const Protocol& protocol) {
  std::string id = "j" + std::to_string(kJudgeProtocolVersion) + "/";
  id += std::string(Name(protocol.level)) + "/" +
        Joined(protocol.modes, "+", [](Mode mode) { return Name(mode); });
  if (std::ranges::find(protocol.modes, Mode::kWall) != protocol.modes.end()) {
    id += std::to_string(kWallVersion);
  }
  id += "/r" + std::to_string(protocol.rounds) + "x" + std::to_string(protocol.samples_per_round);
  id += "p" + std::to_string(protocol.runner_processes);
  if (protocol.renew_contents) id += "/renew";
  if (protocol.every_baseline) id += "/all";
  id += "/c" + Shortest(protocol.confidence) + "/b" + Shortest(protocol.band);
  if (protocol.target_half_width != 0 || protocol.max_rounds != protocol.rounds) {
    id += "/h" + Shortest(protocol.target_half_width) + "m" + std::to_string(protocol.max_rounds);
  }
  if (protocol.warmup_seconds != 0) id += "/warm" + Shortest(protocol.warmup_seconds);
  if (protocol.measure_seconds != 0) id += "/for" + Shortest(protocol.measure_seconds);
  return id + "/t" + std::to_string(protocol.step_timeout_ms);
}

}  // namespace warpsmith
