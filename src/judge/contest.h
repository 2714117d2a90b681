// One job on its way to a verdict: a contest of the candidate and its baselines. Checks come first,
// then rounds, until the protocol has enough of them. Every output of the candidate is compared with
// the reference, and all samples are kept.
//
// What a time may be believed for rests on these rules, which hold for kernels and programs alike:
//
//   - In a round every entrant has the same number of turns, in an order that is drawn anew from the
//     oracle's secret stream. Clocks and temperatures drift, and what ran before leaves caches and
//     clocks behind: by chance this meets all entrants alike. A fixed or guessable order would let a
//     candidate choose whom it harms, or do less where it knows that nothing is compared.
//   - A certified contest measures its primary baseline twice, the second time as an entrant of its
//     own ("/again"). Both are the same code, so how far their ratio is from 1 is what this very
//     contest cannot tell apart (`aa_noise`), whatever the interval says.
//   - A process that has seen inputs can remember the answers to them. So each new process gets
//     contents that no process has seen (where the protocol says so: certified contests), and
//     contents lie in other slots in every round: neither a content nor its address tells the answer.
//   - Whether to stop is decided only between rounds, where all entrants have as many samples, and
//     by the width of the interval alone, never by where it lies: a contest does not go on until it
//     has the wanted winner. Looking at the data at all still makes intervals slightly too narrow.
#ifndef WARPSMITH_JUDGE_CONTEST_H_
#define WARPSMITH_JUDGE_CONTEST_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.h"
#include "base/result.h"
#include "core/device.h"
#include "cuda/nvml.h"
#include "judge/arena.h"
#include "judge/correctness.h"

namespace warpsmith::judge {

struct ContestContext {
  OracleDevice* device = nullptr;
  Arena* arena = nullptr;
  const cuda::TelemetryReader* telemetry = nullptr;  // null: not available
  const DeviceInfo* info = nullptr;
  const Job* job = nullptr;
  Random* random = nullptr;
  Evidence* evidence = nullptr;  // what the contest tells of its processes and baselines goes here
};

// Each step ends in nothing (go on), an Outcome (the verdict is known), or an Error (the harness's:
// no statement about the candidate).
using StepResult = Result<std::optional<Outcome>>;

// The candidate or a baseline.
class Entrant {
 public:
  Entrant(std::string label, bool is_candidate)
      : label_(std::move(label)), is_candidate_(is_candidate) {}
  virtual ~Entrant() = default;
  Entrant(const Entrant&) = delete;
  Entrant& operator=(const Entrant&) = delete;

  // Makes it ready to be called, in the process that calls it.
  virtual StepResult Load() = 0;
  // One call on the check input that lies in the exact mappings; the outputs hold the poison before.
  virtual StepResult Check(const CheckContents& check, uint16_t poison) = 0;
  // One turn: times it, inspects what it wrote, and keeps its samples, with the stamp's process and
  // round.
  virtual StepResult Measure(Mode mode, const Sample& stamp) = 0;
  // Its samples as they count; `Keep` may have kept them with something in them that does not.
  virtual std::vector<Sample> Samples(Mode mode) const;

  const std::string& label() const { return label_; }
  bool is_candidate() const { return is_candidate_; }
  bool is_twin() const;  // the primary baseline's second entry, "…/again"
  double gpu_busy_us() const { return gpu_busy_us_; }

 protected:
  void Keep(Mode mode, const Sample& sample) { samples_[mode].push_back(sample); }
  double gpu_busy_us_ = 0;  // advice; 0: not known

 private:
  friend class Contest;
  std::string label_;  // in the verdict: "candidate", "cublaslt-auto", "cublaslt-auto/again"
  bool is_candidate_;
  std::map<Mode, std::vector<Sample>> samples_;
};

class Contest {
 public:
  virtual ~Contest() = default;
  Contest(const Contest&) = delete;
  Contest& operator=(const Contest&) = delete;

  // Process after process, rounds in each, until the protocol has enough of them. The first Outcome
  // of a step is the verdict; without one the candidate has passed.
  Result<Outcome> Run();

  const Job& job() const { return *context_.job; }
  bool is_certified() const { return job().protocol.level == Level::kCertified; }
  OracleDevice& device() const { return *context_.device; }
  Arena& arena() const { return *context_.arena; }
  Random& random() const { return *context_.random; }
  const DeviceInfo& info() const { return *context_.info; }
  Evidence& evidence() const { return *context_.evidence; }
  CorrectnessBook& book() { return book_; }
  // With the clock, temperature and power of this moment.
  Sample WithTelemetry(Sample sample) const;

 protected:
  // Where entrants run.
  enum class Processes : uint8_t {
    kShared,        // one for all, for several rounds: each entrant is loaded when it opens
    kFreshEachTurn  // one for each turn, in which the entrant is loaded; a round is a process
  };
  Contest(const ContestContext& context, Processes processes);

  // Before the first round of process number `process`.
  virtual StepResult Open(int process) = 0;
  // The task's baseline of this name; null: it is not measured in this contest.
  virtual Result<std::unique_ptr<Entrant>> Baseline(const std::string& name) = 0;
  // After the last round.
  virtual StepResult Close() = 0;
  // What its checks and rounds look for, beside what those of every contest do.
  virtual std::vector<std::string_view> OwnDetectors() const { return {}; }

  // The candidate comes first.
  void Add(std::unique_ptr<Entrant> entrant) { entrants_.push_back(std::move(entrant)); }
  // Those that the protocol asks for, the primary one first, and its twin.
  Status AddBaselines();
  // New contents for a new process; true where the protocol asks for them.
  Result<bool> RenewContents(int process);
  // The candidate, loaded, on every check input.
  StepResult RunChecks();

 private:
  struct Turn {
    Mode mode;
    size_t entrant;
  };
  // This process's share of the rounds.
  StepResult RunRounds(int process);
  StepResult RunRound(int process);
  std::vector<Turn> TurnsOf(size_t first_entrant) const;
  StepResult RunTurn(const Turn& turn, const Sample& stamp);
  bool HasEnough(double seconds) const;
  Result<ModeTiming> TimingOf(Mode mode) const;
  Result<Passed> Finish() const;

  ContestContext context_;
  Processes processes_;
  int planned_processes_;    // more come where the rounds are not enough
  std::vector<Mode> modes_;  // that are timed
  CorrectnessBook book_;
  // The candidate first, then the primary baseline.
  std::vector<std::unique_ptr<Entrant>> entrants_;
  bool has_baselines_ = false;
  int rounds_ = 0;  // done
};

}  // namespace warpsmith::judge

#endif  // WARPSMITH_JUDGE_CONTEST_H_
