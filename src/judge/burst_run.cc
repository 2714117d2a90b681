#include "judge/burst_run.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "base/clock.h"
#include "base/phase.h"
#include "judge/batch_command.h"

namespace warpsmith::judge {
namespace {

constexpr std::chrono::milliseconds kGrace{50};
constexpr double kMostOracleShare = 0.95;
constexpr double kMostHandOverShare = 0.5;

// In the order of the task's tensors.
std::vector<uint32_t> SlotsOf(const PlannedLaunch& call, const std::vector<size_t>& roles) {
  std::vector<uint32_t> slots;
  for (const size_t role : roles) {
    const bool input = role < call.slot.size();
    slots.push_back(static_cast<uint32_t>(input ? call.slot[role] : call.output_slot));
  }
  return slots;
}

Result<OutputReport> LookAtOne(const BurstBench& bench, const PlannedLaunch& call,
                               uint16_t poison) {
  const BatchPlan alone{{}, {call}};
  return TRY(VerifyOutputs(*bench.device, *bench.arena, alone, poison, Detail::kWorstElement))
      .front();
}

// As a burst does it. Which contents they are makes no difference to its time.
Status MoveSome(const BurstBench& bench) {
  const std::vector<Assignment>& assignments = bench.arena->assignments();
  for (size_t input = 0; input < assignments.size(); ++input) {
    const auto last = static_cast<int>(assignments[input].size()) - 1;
    TRY(bench.arena->Swap(input, 0, last));
  }
  return bench.device->Synchronize();
}

class Burst {
 public:
  Burst(const BurstBench& bench, CalledProcess& peer, const BurstCommand& command)
      : bench_(bench),
        peer_(peer),
        command_(command),
        roles_(RolesInTaskOrder(*bench.task)),
        poison_(DrawPoison(*bench.random)) {}

  Result<BurstResult> Run() {
    BurstPage page = TRY(BurstPage::Create(roles_.size()));
    TRY(Prepare());
    if (TRY(IsResident())) return std::move(result_);
    result_.failure = peer_.SendBurst(command_, page);
    if (result_.failure) return std::move(result_);
    TRY(FillSlots());
    const int64_t begin_ns = MonotonicNs();
    peer_.Resume();
    const bool good = TRY(RunCalls(page));
    if (!good) return std::move(result_);
    const int64_t end_ns = MonotonicNs();
    // The clock runs until every output has been read once. A process that announces a call before
    // its output is there does not make the burst shorter by it.
    result_.looked = TRY(HashOutputs(*bench_.device, *bench_.arena, result_.last, poison_));
    // The same synchronisation has completed the looks that were still under way.
    if (!TRY(FinishLooks())) return std::move(result_);
    TRY(MakeUpLooks());
    Time(begin_ns, end_ns, MonotonicNs());
    TRY(Finish());
    return std::move(result_);
  }

 private:
  // Of a call that has ended.
  struct LookUnderWay {
    size_t call = 0;
    const PreparedVerification* look = nullptr;
  };

  void Time(int64_t begin_ns, int64_t end_ns, int64_t seen_ns) {
    const auto us_a_call = [&](int64_t ns) {
      return static_cast<double>(ns) * 1e-3 / static_cast<double>(plan_.calls.size());
    };
    result_.call_us = us_a_call(seen_ns - begin_ns);
    result_.oracle_us = us_a_call(own_ns_ + seen_ns - end_ns);
    result_.work.slots = result_.last.timed.size();
    result_.work.moves = plan_.moves.size();
    result_.work.calls = plan_.calls.size();
  }

  // All but the inputs' contents. They come last, while the process is stopped and when nothing is
  // left to be done before the clock: a process that saw this burst's inputs earlier could compute
  // its answers before its time runs.
  Status Prepare() {
    const Phase phase("prepare");
    Arena& arena = *bench_.arena;
    TRY(bench_.device->ResetPersistingL2());
    arena.DrawAssignments(*bench_.random);
    plan_ = PlanBurst(arena.plan(), arena.assignments(), static_cast<int>(command_.calls),
                      *bench_.random);
    result_.last = LastCalls(plan_);
    TRY(Expect());
    const ResolvedTask& problem = arena.problem();
    for (size_t role = problem.inputs.size(); role < problem.Roles(); ++role) {
      TRY(bench_.device->kernels().RunPoison(arena.slots(role), poison_, bench_.device->stream()));
    }
    return bench_.device->Synchronize();
  }

  Status Expect() {
    const Phase phase("expected");
    TRY(bench_.arena->EnsureReferences(result_.last));
    return bench_.arena->EnsureReferences(VerifiedCalls(plan_));
  }

  // The peer is stopped, and its device should be idle.
  Result<bool> IsResident() {
    const Phase phase("watch");
    constexpr int kTries = 3;
    constexpr double kMostShare = 0.25;
    for (int i = 0; i < kTries; ++i) {
      if (TRY(bench_.device->ShareOfOthers()) < kMostShare) return false;
    }
    peer_.Kill();
    if (TRY(bench_.device->ShareOfOthers()) < kMostShare) return result_.is_resident = true;
    return Error{ErrorCode::kUnavailable, "another process keeps the GPU busy",
                 "see nvidia-smi, and judge again when it is idle"};
  }

  Status FillSlots() {
    const Phase phase("prepare");
    TRY(bench_.arena->FillSlots());
    for (const PlannedLaunch& call : VerifiedCalls(plan_).timed) {
      looks_.push_back(TRY(PrepareVerification(*bench_.device, *bench_.arena, call, poison_)));
    }
    return bench_.device->stream().Synchronize();
  }

  // False: it ended early, and the result says how.
  Result<bool> RunCalls(BurstPage& page) {
    for (size_t call = 0; call < plan_.calls.size(); ++call) {
      if (!TRY(FreeSlot(plan_.calls[call].output_slot))) return false;
      TRY(MoveBefore(call));
      page.Release(static_cast<uint32_t>(call), SlotsOf(plan_.calls[call], roles_));
      if (!TRY(WorkBeside(call))) return false;
      result_.failure = peer_.AwaitCall(page, static_cast<uint32_t>(call), bench_.step_limit);
      if (result_.failure) return false;
    }
    return true;
  }

  // What the oracle does while call `call` runs. The look at the call before it begins only now, after
  // this call's release: if the release waited for the look, its delay would tell the process which
  // call is looked at, in time to write that call's output after all.
  Result<bool> WorkBeside(size_t call) {
    const int64_t begin_ns = MonotonicNs();
    const bool looks = call > 0 && plan_.look[call - 1];
    if (looks) {
      const PreparedVerification& look = looks_.at(result_.work.looks++);
      TRY(look.submit());
      under_way_.push_back({call - 1, &look});
    }
    const bool moves = TRY(MoveBeside(call));
    const bool is_due = !under_way_.empty() && call >= under_way_.front().call + plan_.reserved;
    if (is_due) {
      TRY(bench_.device->Fetch());
      if (!TRY(FinishLooks())) return false;
    }
    if (looks || moves || is_due) own_ns_ += MonotonicNs() - begin_ns;
    return true;
  }

  Status SubmitMove() {
    for (const SlotSwap& swap : plan_.moves[move_].swaps) {
      TRY(bench_.arena->Swap(swap.input, swap.first, swap.second));
    }
    return {};
  }

  // One move at a time: the next is submitted after this one's first reader. False: nothing to do.
  Result<bool> MoveBeside(size_t call) {
    if (move_ == plan_.moves.size() || call < plan_.moves[move_].submit) return false;
    const Move& move = plan_.moves[move_];
    if (call == move.submit) TRY(SubmitMove());
    if (call + 1 < move.needed) return call == move.submit;
    TRY(bench_.device->stream().Synchronize());
    ++move_;
    return true;
  }

  // Where there are too few contents to do without those that move, the call waits for them.
  Status MoveBefore(size_t call) {
    if (move_ == plan_.moves.size() || plan_.moves[move_].needed != call) return {};
    const int64_t begin_ns = MonotonicNs();
    TRY(SubmitMove());
    TRY(bench_.device->stream().Synchronize());
    ++move_;
    own_ns_ += MonotonicNs() - begin_ns;
    return {};
  }

  // A call must not write where a look may still be reading. The plan avoids it where it can; else
  // the look is finished before the call is released.
  Result<bool> FreeSlot(int output_slot) {
    const bool is_read =
        std::any_of(under_way_.begin(), under_way_.end(), [&](const LookUnderWay& look) {
          return plan_.calls[look.call].output_slot == output_slot;
        });
    if (!is_read) return true;
    const int64_t begin_ns = MonotonicNs();
    TRY(bench_.device->Fetch());
    const bool good = TRY(FinishLooks());
    own_ns_ += MonotonicNs() - begin_ns;
    return good;
  }

  // Reads all looks that were submitted; their results have been fetched. False: one of them found
  // a wrong output. A wrong output is looked at once more after a pause: if it is right by then,
  // the call was announced before its output was written.
  Result<bool> FinishLooks() {
    for (const LookUnderWay& under_way : std::exchange(under_way_, {})) {
      const OutputReport report = TRY(under_way.look->read(Detail::kWorstElement));
      if (report.wrong == 0) continue;
      std::this_thread::sleep_for(kGrace);
      const PlannedLaunch& call = plan_.calls[under_way.call];
      const OutputReport later = TRY(LookAtOne(bench_, call, poison_));
      result_.bad_look = BadLook{report, later.wrong == 0};
      peer_.Kill();
      TRY(Inspect());
      return false;
    }
    return true;
  }

  // As many more looks as the burst had too few of, for their time alone: were bursts with few looks
  // shorter, a time would depend on a secret draw. What they say, the inspection of the burst's end
  // says too.
  Status MakeUpLooks() {
    for (size_t i = 0; i < plan_.looks_made_up; ++i) {
      TRY(LookAtOne(bench_, plan_.calls.back(), poison_));
      ++result_.work.looks;
    }
    return {};
  }

  Status Finish() {
    const CallResult end = peer_.FinishBurst(bench_.step_limit);
    const auto* reply = std::get_if<Reply>(&end);
    if (reply == nullptr) {
      result_.failure = end;
      return {};
    }
    const bool unwritten = std::any_of(result_.looked.begin(), result_.looked.end(),
                                       [](const OutputReport& look) { return look.poison > 0; });
    if (unwritten) std::this_thread::sleep_for(kGrace);  // late, or never?
    peer_.Pause();
    result_.gpu_busy_us = reply->gpu_busy_us;
    return Inspect();
  }

  Status Inspect() {
    const Phase phase("inspect");
    result_.verified = TRY(
        InspectBatch(*bench_.device, *bench_.arena, result_.last, poison_, Detail::kWorstElement));
    return {};
  }

  const BurstBench& bench_;
  CalledProcess& peer_;
  const BurstCommand& command_;
  const std::vector<size_t> roles_;
  const uint16_t poison_;
  BurstPlan plan_;
  std::vector<PreparedVerification> looks_;  // in the order of their calls
  std::vector<LookUnderWay> under_way_;      // submitted, not read yet
  size_t move_ = 0;                          // the next one, or the one under way
  int64_t own_ns_ = 0;
  BurstResult result_;
};

}  // namespace

OracleCost LowerCost(const OracleCost& a, const OracleCost& b) {
  return {std::min(a.look_us, b.look_us), std::min(a.slot_us, b.slot_us),
          std::min(a.move_us, b.move_us)};
}

double OracleShare(double call_us, const OracleWork& work, const OracleCost& cost) {
  if (work.calls == 0 || call_us <= 0) return 0;
  const double burst_us = static_cast<double>(work.looks) * cost.look_us +
                          static_cast<double>(work.slots) * cost.slot_us +
                          static_cast<double>(work.moves) * cost.move_us;
  return burst_us / (call_us * static_cast<double>(work.calls));
}

double NetUs(double call_us, const OracleWork& work, const OracleCost& cost, double hand_over_us) {
  const double rest = call_us * (1 - std::min(OracleShare(call_us, work, cost), kMostOracleShare));
  return rest - std::min(hand_over_us, kMostHandOverShare * rest);
}

Result<BurstResult> RunBurst(const BurstBench& bench, CalledProcess& peer,
                             const BurstCommand& burst) {
  return Burst(bench, peer, burst).Run();
}

Result<NullCost> MeasureNullCost(const BurstBench& bench, CalledProcess& peer, int calls) {
  constexpr int kTries = 3;
  NullCost cost;
  const size_t roles = bench.arena->problem().Roles();
  const std::vector<uint32_t> slots(roles, 0);
  for (int i = 0; i < kTries; ++i) {
    BurstPage page = TRY(BurstPage::Create(roles));
    cost.failure = peer.SendBurst({"null", calls, true, false}, page);
    if (cost.failure) return cost;
    const int64_t begin_ns = MonotonicNs();
    peer.Resume();
    for (int call = 0; call < calls; ++call) {
      page.Release(static_cast<uint32_t>(call), slots);
      cost.failure = peer.AwaitCall(page, static_cast<uint32_t>(call), bench.step_limit);
      if (cost.failure) return cost;
    }
    const double us = static_cast<double>(MonotonicNs() - begin_ns) * 1e-3 / calls;
    cost.call_us = i == 0 ? us : std::min(cost.call_us, us);
    CallResult end = peer.FinishBurst(bench.step_limit);
    if (!std::holds_alternative<Reply>(end)) cost.failure = std::move(end);
    if (cost.failure) return cost;
    peer.Pause();
  }
  return cost;
}

Result<OracleCost> MeasureOracleCost(const BurstBench& bench, const BatchPlan& last) {
  constexpr int kTries = 2;  // the first may wait for what the device still has to do
  const uint16_t poison = DrawPoison(*bench.random);
  OracleCost cost;
  for (int i = 0; i < kTries; ++i) {
    const int64_t begin_ns = MonotonicNs();
    TRY(LookAtOne(bench, last.timed.front(), poison));
    const int64_t looked_ns = MonotonicNs();
    TRY(HashOutputs(*bench.device, *bench.arena, last, poison));
    const int64_t read_ns = MonotonicNs();
    TRY(MoveSome(bench));
    const int64_t moved_ns = MonotonicNs();
    const auto us = [](int64_t ns) { return static_cast<double>(ns) * 1e-3; };
    const OracleCost now{us(looked_ns - begin_ns),
                         us(read_ns - looked_ns) / static_cast<double>(last.timed.size()),
                         us(moved_ns - read_ns)};
    cost = i == 0 ? now : LowerCost(cost, now);
  }
  return cost;
}

}  // namespace warpsmith::judge
