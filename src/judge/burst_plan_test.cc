#include "judge/burst_plan.h"

#include <gtest/gtest.h>

#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>
#include <set>

namespace warpsmith::judge {
namespace {

struct Setting {
  ArenaPlan plan;
  std::vector<Assignment> assignments;
};

Setting MakeSetting(bool crossed, int contents, int slots_each, int output_slots, Random& random) {
  Setting setting;
  setting.plan.crossed = crossed;
  setting.plan.contents = contents;
  setting.plan.input_slots = contents * slots_each;
  setting.plan.output_slots = output_slots;
  for (int input = 0; input < 2; ++input) {
    setting.assignments.push_back(DrawAssignment(setting.plan, random));
  }
  return setting;
}

Setting AnySetting(Random& random) {
  const bool crossed = *rc::gen::arbitrary<bool>();
  return MakeSetting(crossed, *rc::gen::inRange(2, 9), crossed ? *rc::gen::inRange(1, 4) : 1,
                     *rc::gen::inRange(2, 20), random);
}

// Carries a plan out: what each slot holds when a call reads it.
void Replay(const Setting& setting, const BurstPlan& burst) {
  std::vector<Assignment> now = setting.assignments;
  size_t next = 0;
  std::set<std::pair<size_t, int>> moving;
  for (size_t call = 0; call < burst.calls.size(); ++call) {
    if (next < burst.moves.size() && burst.moves[next].submit == call) {
      for (const SlotSwap& swap : burst.moves[next].swaps) {
        std::swap(now[swap.input].at(static_cast<size_t>(swap.first)),
                  now[swap.input].at(static_cast<size_t>(swap.second)));
        moving.insert({swap.input, swap.first});
        moving.insert({swap.input, swap.second});
      }
    }
    if (next < burst.moves.size() && burst.moves[next].needed == call) {
      moving.clear();
      ++next;
      const auto after = burst.look.begin() + static_cast<std::ptrdiff_t>(call);
      RC_ASSERT(std::find(after, burst.look.end(), true) - after < 32);
    }
    const PlannedLaunch& launch = burst.calls[call];
    RC_ASSERT(launch.output_slot >= 0 && launch.output_slot < setting.plan.output_slots);
    for (size_t input = 0; input < now.size(); ++input) {
      const int slot = launch.slot.at(input);
      RC_ASSERT(now[input].at(static_cast<size_t>(slot)) == launch.content.at(input));
      RC_ASSERT(!moving.contains({input, slot}));
    }
    if (!setting.plan.crossed) RC_ASSERT(launch.content.at(0) == launch.content.at(1));
  }
  RC_ASSERT(next == burst.moves.size());
}

RC_GTEST_PROP(BurstPlan, EveryCallReadsWhatItIsSaidTo, (uint64_t seed)) {
  Random random(seed, "burst");
  const Setting setting = AnySetting(random);
  const int calls = *rc::gen::inRange(1, 300);
  const BurstPlan burst = PlanBurst(setting.plan, setting.assignments, calls, random);
  RC_ASSERT(burst.calls.size() == static_cast<size_t>(calls));
  Replay(setting, burst);
}

RC_GTEST_PROP(BurstPlan, NoSlotIsGivenWhatItHoldsAndAllAreUsed, (uint64_t seed)) {
  Random random(seed, "burst");
  Setting setting = AnySetting(random);
  if (setting.plan.contents == 2 && !setting.plan.crossed) setting.plan.output_slots = 3;
  const BurstPlan burst = PlanBurst(setting.plan, setting.assignments, 300, random);
  std::vector<std::vector<int>> held(static_cast<size_t>(setting.plan.output_slots));
  int repeats = 0;
  for (const PlannedLaunch& call : burst.calls) {
    auto& slot = held.at(static_cast<size_t>(call.output_slot));
    repeats += slot == call.content ? 1 : 0;
    slot = call.content;
  }
  RC_ASSERT(repeats == 0 || setting.plan.combinations() == 2);
  RC_ASSERT(LastCalls(burst).timed.size() == held.size());
}

RC_GTEST_PROP(BurstPlan, FewCallsGetACombinationOfTheirOwn, (uint64_t seed)) {
  Random random(seed, "burst");
  const Setting setting = AnySetting(random);
  const int calls = std::min(15, setting.plan.combinations());  // none move yet
  const BurstPlan burst = PlanBurst(setting.plan, setting.assignments, calls, random);
  std::set<std::vector<int>> seen;
  for (const PlannedLaunch& call : burst.calls) seen.insert(call.content);
  RC_ASSERT(seen.size() == static_cast<size_t>(calls) || setting.plan.output_slots < 3);
}

// Or a look would have to hold the next calls up.
RC_GTEST_PROP(BurstPlan, ASlotThatIsLookedAtIsLeftAlone, (uint64_t seed)) {
  Random random(seed, "burst");
  const Setting setting = AnySetting(random);
  const int calls = *rc::gen::inRange(2, 3000);
  const BurstPlan burst = PlanBurst(setting.plan, setting.assignments, calls, random);
  RC_ASSERT(burst.reserved >= 1U);
  RC_ASSERT(burst.reserved <= std::max<size_t>(1, static_cast<size_t>(calls) / 16));
  if (setting.plan.output_slots < 8) return;  // with few of them looks may meet
  for (size_t call = 0; call < burst.calls.size(); ++call) {
    if (!burst.look[call]) continue;
    for (size_t next = call + 1; next <= call + burst.reserved && next < burst.calls.size();
         ++next) {
      RC_ASSERT(burst.calls[next].output_slot != burst.calls[call].output_slot);
    }
  }
}

// Its look begins only when that call has been released (two or three slots are what programs with
// outputs of over 4 MiB have).
RC_GTEST_PROP(BurstPlan, TheCallAfterOneThatIsLookedAtWritesElsewhere, (uint64_t seed)) {
  Random random(seed, "burst");
  const Setting setting = MakeSetting(*rc::gen::arbitrary<bool>(), *rc::gen::inRange(2, 6), 1,
                                      *rc::gen::inRange(2, 5), random);
  const int calls = *rc::gen::inRange(2, 600);
  const BurstPlan burst = PlanBurst(setting.plan, setting.assignments, calls, random);
  for (size_t call = 0; call + 1 < burst.calls.size(); ++call) {
    if (!burst.look[call]) continue;
    RC_ASSERT(burst.calls[call + 1].output_slot != burst.calls[call].output_slot);
  }
}

int Looks(const BurstPlan& burst) {
  return static_cast<int>(std::count(burst.look.begin(), burst.look.end(), true));
}

// Is any of the first `left_out` calls looked at, or the last of its slot?
bool IsLeftOutSeen(const BurstPlan& burst, int left_out) {
  std::set<int> later;
  for (size_t call = burst.calls.size(); call-- > 0;) {
    const bool is_last = later.insert(burst.calls[call].output_slot).second;
    if (call < static_cast<size_t>(left_out) && (is_last || burst.look[call])) return true;
  }
  return false;
}

// An attack counted them: with a fixed number, a program was free after the last one.
TEST(BurstPlan, TheNumberOfLooksTellsNothingOfThoseToCome) {
  constexpr int kBursts = 400, kCalls = 1000, kSeen = 10;
  Random random(11, "burst");
  const Setting setting = MakeSetting(false, 8, 1, 10, random);
  int reached = 0, more = 0, least = kCalls, most = 0;
  for (int i = 0; i < kBursts; ++i) {
    const BurstPlan burst = PlanBurst(setting.plan, setting.assignments, kCalls, random);
    least = std::min(least, Looks(burst));
    most = std::max(most, Looks(burst));
    reached += Looks(burst) >= kSeen ? 1 : 0;
    more += Looks(burst) > kSeen ? 1 : 0;
    EXPECT_LE(burst.looks_made_up, 6U);
  }
  EXPECT_LT(least, 8);
  EXPECT_GT(most, 11);
  EXPECT_GT(more * 3, reached) << reached;  // after the tenth another is as likely as not
}

TEST(BurstPlan, AllBurstsCostAsManyLooks) {
  Random random(13, "burst");
  const Setting setting = MakeSetting(false, 2, 1, 3, random);  // moves have looks of their own
  for (const auto& [calls, looks] : std::map<int, int>{{2, 1}, {7, 3}, {12, 6}, {15, 6}}) {
    for (int i = 0; i < 50; ++i) {
      const BurstPlan burst = PlanBurst(setting.plan, setting.assignments, calls, random);
      EXPECT_EQ(Looks(burst) + static_cast<int>(burst.looks_made_up), looks);
    }
  }
}

// Long calls make short bursts, and large outputs few slots: without looks, the first calls could
// be left out, since later ones write where they should have written.
TEST(BurstPlan, CallsLeftOutOfAShortBurstShow) {
  constexpr int kBursts = 400;
  Random random(17, "burst");
  for (const bool crossed : {false, true}) {
    const Setting setting =
        crossed ? MakeSetting(true, 2, 1, 2, random) : MakeSetting(false, 3, 1, 3, random);
    for (int calls = 3; calls <= 12; ++calls) {
      int seen = 0;
      for (int i = 0; i < kBursts; ++i) {
        const BurstPlan burst = PlanBurst(setting.plan, setting.assignments, calls, random);
        seen += IsLeftOutSeen(burst, calls / 3) ? 1 : 0;
      }
      EXPECT_GT(seen * 5, kBursts) << calls << " calls" << (crossed ? ", crossed" : "");
    }
  }
}

TEST(BurstPlan, LongBurstsMoveContentsAndLookAtCalls) {
  Random random(7, "burst");
  const Setting setting = MakeSetting(false, 8, 1, 10, random);
  const BurstPlan burst = PlanBurst(setting.plan, setting.assignments, 5000, random);
  EXPECT_GE(burst.moves.size(), 3U);
  EXPECT_GE(VerifiedCalls(burst).timed.size(), 5U);
  EXPECT_TRUE(PlanBurst(setting.plan, setting.assignments, 8, random).moves.empty());
}

// As many in a burst of 16 calls as in one of 5,000, but for those that find no room.
TEST(BurstPlan, LongCallsPayForMovesLikeShortOnes) {
  Random random(19, "burst");
  const Setting setting = MakeSetting(false, 2, 1, 3, random);
  constexpr size_t kBursts = 200;
  std::map<int, size_t> moves;
  for (const int calls : {15, 16, 31, 64, 5000}) {
    for (size_t i = 0; i < kBursts; ++i) {
      moves[calls] += PlanBurst(setting.plan, setting.assignments, calls, random).moves.size();
    }
  }
  EXPECT_EQ(moves[15], 0U);
  EXPECT_GT(moves[16], 4 * kBursts);
  EXPECT_GT(moves[31], 5 * kBursts);
  EXPECT_LE(moves[5000], 6 * kBursts);
}

TEST(BurstPlan, ABurstOfAFewQuickCallsIsNotTimed) {
  EXPECT_TRUE(IsLongEnough(1000, 100));
  EXPECT_TRUE(IsLongEnough(1000, 50));
  EXPECT_FALSE(IsLongEnough(1000, 49));
  EXPECT_FALSE(IsLongEnough(200, 2));
  EXPECT_TRUE(IsLongEnough(0.5, 20'000));  // no burst has more
  EXPECT_TRUE(IsLongEnough(60'000, 2));
}

TEST(BurstPlan, BurstsLastATenthOfASecond) {
  EXPECT_EQ(CallsFor(100), 1000);
  EXPECT_EQ(CallsFor(0), 20'000);
  EXPECT_EQ(CallsFor(1e6), 2);
}

}  // namespace
}  // namespace warpsmith::judge
