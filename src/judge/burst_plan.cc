#include "judge/burst_plan.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

#include "base/result.h"

namespace warpsmith::judge {
namespace {

constexpr double kBurstUs = 100'000;
constexpr int kMostCalls = 20'000;
constexpr size_t kMostLooks = 6;  // half of them on average; moves have theirs besides
constexpr int kMoves = 6;
// Bursts take as long whoever is called, so as many moves are the same share of everybody's time.
// Shorter ones hardly have calls for them.
constexpr int kCallsForMoves = 16;
// Between a move's submission and its first reader, so that nobody waits for it.
constexpr size_t kLeastFlight = 4, kMostFlight = 64;
// The call that is looked at is one of so many that follow a move.
constexpr size_t kMostSuspense = 32;
// As long as a look may take: of a burst's 100 ms.
constexpr size_t kShareReserved = 16, kMostReserved = 1024;

// Sets of contents come in pairs that differ in a few elements (arena.cc): a loose tolerance could
// take one's output for the other's.
bool MayLookAlike(const ArenaPlan& plan, const std::vector<int>& a, const std::vector<int>& b) {
  if (a == b) return true;
  return !plan.crossed && plan.contents > 3 && a[0] / 2 == b[0] / 2;
}

class Planner {
 public:
  Planner(const ArenaPlan& plan, const std::vector<Assignment>& assignments, int calls,
          Random& random)
      : plan_(plan), assignments_(assignments), random_(random) {
    const auto count = static_cast<size_t>(calls);
    burst_.look.assign(count, false);
    burst_.reserved = std::clamp<size_t>(count / kShareReserved, 1, kMostReserved);
    last_.resize(static_cast<size_t>(plan.output_slots));
    free_from_.assign(last_.size(), 0);
  }

  BurstPlan Make() {
    const size_t calls = burst_.look.size();
    PlaceMoves(calls);
    PlaceLooks(calls);
    for (size_t call = 0; call < calls; ++call) burst_.calls.push_back(Next(call));
    return std::move(burst_);
  }

 private:
  // Each call by itself, so that whoever counts the looks there were knows nothing of those to
  // come. Their number is made up for at the end, so that all bursts cost the same. A short burst
  // has at most one for two calls, lest looking take longer than they do.
  void PlaceLooks(size_t calls) {
    const size_t most = std::min(kMostLooks, calls / 2);
    std::vector<size_t> at;
    for (size_t call = 0; call + 1 < calls; ++call) {
      if (random_.Below(2 * calls) < most) at.push_back(call);
    }
    random_.Shuffle(at);
    at.resize(std::min(at.size(), most));
    for (const size_t call : at) burst_.look[call] = true;
    burst_.looks_made_up = most - at.size();
  }

  void PlaceMoves(size_t calls) {
    if (calls < kCallsForMoves || plan_.contents < 2 || assignments_.empty()) return;
    std::vector<size_t> at;
    for (int i = 0; i < kMoves; ++i) at.push_back(1 + random_.Below(calls - 2));
    std::sort(at.begin(), at.end());
    // With few contents there is no call that could do without the moving ones: what is left must
    // not look alike.
    const size_t flight = plan_.contents >= (plan_.crossed ? 4 : 5)
                              ? std::clamp(calls / kMostFlight, kLeastFlight, kMostFlight)
                              : 0;
    size_t free_from = 0;
    for (const size_t submit : at) {
      if (submit < free_from || submit + flight + 1 >= calls) continue;
      burst_.moves.push_back({submit, submit + flight, {}});
      free_from = submit + flight + 1;
    }
  }

  PlannedLaunch Next(size_t call) {
    slots_ = SlotsFor(call);
    if (move_ < burst_.moves.size()) {
      Move& move = burst_.moves[move_];
      if (call == move.submit) Submit(move);
      if (call == move.needed) {
        moved_ = std::exchange(moving_, {});
        ++move_;
        look_at_moved_ = call + random_.Below(Suspense(call));
      }
    }
    std::optional<int> wanted;  // a content that has moved
    if (look_at_moved_ == call) {
      wanted = OneThatMoved();
      look_at_moved_.reset();
      burst_.look[call] = true;
    } else if (burst_.look[call] && !MayReserve(call)) {
      burst_.look[call] = false;
      ++burst_.looks_made_up;
    }
    PlannedLaunch launch = Place(Draw(wanted));
    if (burst_.look[call] && MayReserve(call)) {
      free_from_[static_cast<size_t>(launch.output_slot)] = call + 1 + burst_.reserved;
    }
    return launch;
  }

  // Calls from this one on of which one is looked at: before the next move, and few of a short
  // burst.
  size_t Suspense(size_t call) const {
    const size_t calls = burst_.look.size();
    const size_t next = move_ < burst_.moves.size() ? burst_.moves[move_].submit : calls - 1;
    return std::clamp<size_t>(std::min(next - call, calls / kMostSuspense), 1, kMostSuspense);
  }

  bool IsReserved(size_t slot, size_t call) const { return call < free_from_[slot]; }

  // The others must do for the calls that follow: two of them, where there are so many.
  bool MayReserve(size_t call) const {
    size_t free = 0;
    for (size_t slot = 0; slot < last_.size(); ++slot) free += IsReserved(slot, call) ? 0U : 1U;
    return free >= std::clamp<size_t>(last_.size(), 2, 3);
  }

  // Where a call may write. If all slots are reserved, one whose look was submitted long enough ago
  // to be finished before the call is released; never that of the call before, whose look begins
  // only afterwards and would read this call's output.
  std::vector<size_t> SlotsFor(size_t call) const {
    std::vector<size_t> free, others;
    for (size_t slot = 0; slot < last_.size(); ++slot) {
      const bool begins_now = call > 0 && burst_.look[call - 1] &&
                              static_cast<size_t>(burst_.calls.back().output_slot) == slot;
      if (begins_now) continue;
      others.push_back(slot);
      if (!IsReserved(slot, call)) free.push_back(slot);
    }
    return free.empty() ? others : free;
  }

  // Two contents change places in every input.
  void Submit(Move& move) {
    const auto contents = static_cast<uint64_t>(plan_.contents);
    const auto one = static_cast<int>(random_.Below(contents));
    auto other = static_cast<int>(random_.Below(contents - 1));
    if (other >= one) ++other;
    moving_ = {one, other};
    for (size_t input = 0; input < assignments_.size(); ++input) {
      Assignment& assignment = assignments_[input];
      const int first = AnySlotOf(assignment, one), second = AnySlotOf(assignment, other);
      std::swap(assignment[static_cast<size_t>(first)], assignment[static_cast<size_t>(second)]);
      move.swaps.push_back({input, first, second});
    }
  }

  // None, where every output slot holds what looks like it.
  std::optional<int> OneThatMoved() {
    random_.Shuffle(moved_);
    for (const int content : moved_) {
      const bool again = std::find(moving_.begin(), moving_.end(), content) != moving_.end();
      if (!again && (plan_.crossed || HasRoom(SetOf(content)))) return content;
    }
    return std::nullopt;
  }

  int AnySlotOf(const Assignment& assignment, int content) {
    std::vector<int> slots;
    for (size_t slot = 0; slot < assignment.size(); ++slot) {
      if (assignment[slot] == content) slots.push_back(static_cast<int>(slot));
    }
    CHECK(!slots.empty());
    return slots[random_.Below(slots.size())];
  }

  // One content for every input.
  std::vector<int> SetOf(int content) const {
    return std::vector<int>(std::max<size_t>(assignments_.size(), 1), content);
  }

  bool IsMoving(const std::vector<int>& content) const {
    return std::any_of(content.begin(), content.end(), [this](int one) {
      return std::find(moving_.begin(), moving_.end(), one) != moving_.end();
    });
  }

  bool HasRoom(const std::vector<int>& content) const {
    return std::any_of(slots_.begin(), slots_.end(), [&](size_t slot) {
      return last_[slot].empty() || !MayLookAlike(plan_, last_[slot], content);
    });
  }

  // Not had before, as long as there is such a one.
  std::vector<int> Draw(std::optional<int> wanted) {
    for (int deck = 0; deck < 2; ++deck) {
      const auto found = std::find_if(deck_.begin(), deck_.end(), [&](const auto& content) {
        const bool asked =
            !wanted || std::find(content.begin(), content.end(), *wanted) != content.end();
        return asked && !IsMoving(content) && HasRoom(content);
      });
      if (found != deck_.end()) {
        std::vector<int> content = *found;
        deck_.erase(found);
        return content;
      }
      if (wanted) deck_.clear();
      Shuffle();
    }
    // What is left stands in every output slot already: with two contents only.
    const auto still = std::find_if(deck_.begin(), deck_.end(),
                                    [this](const auto& content) { return !IsMoving(content); });
    CHECK(still != deck_.end());
    return wanted ? SetOf(*wanted) : *still;
  }

  void Shuffle() {
    for (int index = 0; index < plan_.combinations(); ++index) {
      if (plan_.crossed) {
        deck_.push_back({index / plan_.contents, index % plan_.contents});
      } else {
        deck_.push_back(SetOf(index));
      }
    }
    random_.Shuffle(deck_);
  }

  PlannedLaunch Place(std::vector<int> content) {
    PlannedLaunch launch;
    for (size_t input = 0; input < assignments_.size(); ++input) {
      launch.slot.push_back(AnySlotOf(assignments_[input], content[input]));
    }
    const std::vector<int> room = RoomFor(content);
    launch.output_slot = room[random_.Below(room.size())];
    last_[static_cast<size_t>(launch.output_slot)] = content;
    if (assignments_.empty()) content.clear();
    launch.content = std::move(content);
    return launch;
  }

  // Every slot once; then those that hold something else. All, where there is none.
  std::vector<int> RoomFor(const std::vector<int>& content) const {
    std::vector<int> unused, different, all;
    for (const size_t slot : slots_) {
      all.push_back(static_cast<int>(slot));
      if (last_[slot].empty()) {
        unused.push_back(all.back());
      } else if (!MayLookAlike(plan_, last_[slot], content)) {
        different.push_back(all.back());
      }
    }
    if (!unused.empty()) return unused;
    return different.empty() ? all : different;
  }

  const ArenaPlan& plan_;
  std::vector<Assignment> assignments_;
  Random& random_;
  BurstPlan burst_;
  std::vector<std::vector<int>> deck_;  // combinations still to come
  std::vector<std::vector<int>> last_;  // what each output slot holds; empty: poison
  std::vector<size_t> free_from_;       // the first call that may have each output slot
  std::vector<size_t> slots_;           // that the call at hand may have
  std::vector<int> moving_, moved_;     // contents on their way; those that were, lately
  std::optional<size_t> look_at_moved_;
  size_t move_ = 0;  // the next one
};

}  // namespace

BurstPlan PlanBurst(const ArenaPlan& plan, const std::vector<Assignment>& assignments, int calls,
                    Random& random) {
  CHECK(calls >= 1);
  return Planner(plan, assignments, calls, random).Make();
}

BatchPlan LastCalls(const BurstPlan& plan) {
  std::map<int, const PlannedLaunch*> last;
  for (const PlannedLaunch& call : plan.calls) last[call.output_slot] = &call;
  BatchPlan batch;
  for (const auto& [slot, call] : last) batch.timed.push_back(*call);
  return batch;
}

BatchPlan VerifiedCalls(const BurstPlan& plan) {
  BatchPlan batch;
  for (size_t call = 0; call < plan.calls.size(); ++call) {
    if (plan.look[call]) batch.timed.push_back(plan.calls[call]);
  }
  return batch;
}

int CallsFor(double call_us) {
  const double wanted = std::ceil(kBurstUs / std::max(call_us, 0.1));
  return static_cast<int>(std::clamp<double>(wanted, kLeastBurstCalls, kMostCalls));
}

bool IsLongEnough(double call_us, int calls) {
  return call_us * calls >= kBurstUs / 2 || calls >= kMostCalls;
}

}  // namespace warpsmith::judge
