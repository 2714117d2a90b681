// The wgmma family's index arithmetic, run on the host from the device headers themselves.
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <vector>

#include "hgemm/tests/emulated_sm90.h"
// After the emulation.
#include "hgemm/device/wgmma_split.cuh"
#include "hgemm/tests/configuration.h"

namespace warpsmith::hgemm::wgmma {
namespace {

struct IndexBase : PlainConfiguration {
  static constexpr int kTileM = 128, kTileN = 128, kTileK = 64, kStages = 4;
  static constexpr int kConsumers = 2, kRasterGroup = 8;
};

struct IndexSliced : IndexBase {
  static constexpr int kSplits = 2, kSlices = 3;
};

struct IndexTurns : IndexBase {
  static constexpr bool kPersistent = true, kPingPong = true, kRasterAlongM = false;
  static constexpr int kRasterGroup = 4;
};

struct InCluster : IndexBase {
  static constexpr int kClusterM = 2, kClusterN = 2;
};

// Position in the cluster as MakeCta finds it, from the block's index.
template <class C>
Cta CtaOf(int block) {
  using G = Geometry<C>;
  const int rank = block % G::kClusterSize;
  Cta cta{};
  cta.slice = block / G::kClusterSize % C::kSlices;
  cta.split = rank / (C::kClusterM * C::kClusterN);
  cta.row = rank % (C::kClusterM * C::kClusterN) / C::kClusterN;
  cta.column = rank % C::kClusterN;
  return cta;
}

// How often each (tile row, tile column, k-block) is worked on by a grid of so many clusters.
template <class C>
std::map<std::vector<int>, int> Worked(const Problem& problem, int clusters) {
  std::map<std::vector<int>, int> count;
  gridDim.x = clusters * Geometry<C>::kClusterSize;
  for (blockIdx.x = 0; blockIdx.x < gridDim.x; ++blockIdx.x) {
    const Cta cta = CtaOf<C>(blockIdx.x);
    const Work work = WorkOf<C>(cta, problem);
    ForEachTile<C>(cta, problem, work.first, [&](int row, int column, bool) {
      for (int block = work.blocks.begin; block < work.blocks.end; ++block) {
        ++count[{row, column, block}];
      }
    });
  }
  return count;
}

template <class C>
void ExpectEveryBlockOnce(const Problem& problem, int clusters) {
  const auto count = Worked<C>(problem, clusters);
  for (int row = 0; row < problem.m; row += C::kTileM) {
    for (int column = 0; column < problem.n; column += C::kTileN) {
      for (int block = 0; block * C::kTileK < problem.k; ++block) {
        const auto found = count.find({row, column, block});
        ASSERT_NE(found, count.end()) << row << " " << column << " " << block;
        ASSERT_EQ(found->second, 1);
      }
    }
  }
}

TEST(WgmmaIndex, EveryKBlockOfEveryTileIsMultipliedOnce) {
  ExpectEveryBlockOnce<IndexBase>({1000, 1300, 200}, 8 * 11);
  ExpectEveryBlockOnce<IndexSliced>({300, 260, 64 * 17}, 3 * 3 * 3);
  ExpectEveryBlockOnce<IndexTurns>({1500, 900, 128}, 13);
  ExpectEveryBlockOnce<InCluster>({700, 600, 64}, 3 * 3);
}

// What the producer loads for the n-th time is what the warpgroup whose turn it is finds there.
TEST(WgmmaIndex, TurnsMeetTheProducerAtTheSameStage) {
  for (int blocks = 1; blocks <= 11; ++blocks) {
    RingPosition<4> producer, consumer[2];
    for (int tile = 0; tile < 9; ++tile) {
      RingPosition<4>& mine = consumer[tile % 2];
      consumer[1 - tile % 2].Skip(blocks);
      for (int block = 0; block < blocks; ++block, producer.Advance(), mine.Advance()) {
        ASSERT_EQ(mine.stage, producer.stage) << blocks << " blocks, tile " << tile;
        ASSERT_EQ(mine.parity, producer.parity) << blocks << " blocks, tile " << tile;
      }
    }
  }
}

// Partial sums that splits send each other land side by side in the owner's memory.
TEST(WgmmaIndex, InboxHoldsEveryPartOnceWithoutGaps) {
  using G = Geometry<IndexSliced>;
  std::set<unsigned> offsets;
  for (int from = 0; from < IndexSliced::kSplits; ++from) {
    for (int warpgroup = 0; warpgroup < IndexSliced::kConsumers; ++warpgroup) {
      for (int own = 0; own < G::kWarpgroupN / 8 / IndexSliced::kSplits; ++own) {
        for (threadIdx.x = 0; threadIdx.x < 128; ++threadIdx.x) {
          const Warpgroup group{warpgroup, 0, 0};
          EXPECT_TRUE(offsets.insert(InboxOffset<IndexSliced>(from, group, 0, own)).second);
        }
      }
    }
  }
  EXPECT_EQ(*offsets.rbegin() + 16, static_cast<unsigned>(G::kPartialBytes));
  EXPECT_EQ(offsets.size() * 16, static_cast<size_t>(G::kPartialBytes));
}

TEST(WgmmaIndex, PartialRowsAreWholeGroups) {
  EXPECT_EQ(PartialsPitch({1, 99, 1}), 104);
  EXPECT_EQ(PartialsPitch({1, 256, 1}), 256);
}

}  // namespace
}  // namespace warpsmith::hgemm::wgmma
