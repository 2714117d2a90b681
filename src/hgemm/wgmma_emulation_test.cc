// The wgmma family's kernels, run on an emulated GPU (tests/emulated_sm90.h) and compared element
// by element. Operands are small whole numbers, so that every sum is exact whatever its order.
#include <gtest/gtest.h>

#include "hgemm/tests/emulated_sm90.h"
// After the emulation.
#include "hgemm/device/wgmma.cuh"
#include "hgemm/tests/configuration.h"

namespace warpsmith::hgemm::wgmma {
namespace {

struct Base : PlainConfiguration {
  static constexpr int kTileM = 64, kTileN = 64, kTileK = 64, kStages = 2;
  static constexpr int kConsumers = 1, kRasterGroup = 2;
};

struct Operands {
  Problem problem;
  std::vector<u16> a, b, c;
  std::vector<float> expected;
};

float Small(int i) { return static_cast<float>(i * 7 % 5 - 2); }

template <class C>
Operands MakeOperands(const Problem& p) {
  Operands o{p, {}, {}, std::vector<u16>(p.m * p.n, 0x7e00), std::vector<float>(p.m * p.n)};
  const auto a = [](int row, int k) { return Small(row * 3 + k * 11 + row * k % 13); };
  const auto b = [](int k, int n) { return Small(n * 5 + k * 2 + n * k % 7); };
  for (int i = 0; i < p.m * p.k; ++i) {
    o.a.push_back(emulated::BitsOf(a(i / p.k, i % p.k), C::kBf16));
  }
  for (int i = 0; i < p.k * p.n; ++i) {
    const float value = C::kRowMajorB ? b(i / p.n, i % p.n) : b(i % p.k, i / p.k);
    o.b.push_back(emulated::BitsOf(value, C::kBf16));
  }
  for (int i = 0; i < p.m * p.n; ++i) {
    for (int k = 0; k < p.k; ++k) o.expected[i] += a(i / p.n, k) * b(k, i % p.n);
  }
  return o;
}

// One cluster after the other; all threads of a cluster at once.
template <class Kernel>
void Launch(int clusters, int ctas, int threads, const Kernel& kernel) {
  for (int cluster = 0; cluster < clusters; ++cluster) {
    emulated::Cluster emulation(ctas, threads);
    std::vector<std::thread> all;
    for (int i = 0; i < ctas * threads; ++i) {
      all.emplace_back([&, i] {
        emulated::self = {&emulation, static_cast<u32>(i / threads), 0, {}, {}};
        threadIdx.x = i % threads;
        blockIdx.x = cluster * ctas + i / threads;
        gridDim.x = clusters * ctas;
        kernel();
      });
    }
    for (std::thread& thread : all) thread.join();
  }
}

// `resident`: clusters of a persistent grid.
template <class C>
void ExpectRight(const Problem& p, int resident = 1) {
  using G = Geometry<C>;
  Operands o = MakeOperands<C>(p);
  std::vector<float> partials(static_cast<size_t>(C::kSlices) * p.m * PartialsPitch(p), NAN);
  const TensorMap a{o.a.data(), p.m, p.k, C::kTileM / C::kClusterN, 64};
  const TensorMap b = C::kRowMajorB ? TensorMap{o.b.data(), p.k, p.n, C::kTileK / C::kClusterM, 64}
                                    : TensorMap{o.b.data(), p.n, p.k, C::kTileN / C::kClusterM, 64};
  const TensorMap c{o.c.data(), p.m, p.n, 64, G::kPanelCols};
  const Output output{&c, o.c.data(), partials.data()};
  const Tile grid = ClusterGrid<C>(p);
  const int clusters = C::kPersistent ? resident : grid.m * grid.n * C::kSlices;
  Launch(clusters, G::kClusterSize, G::kThreads, [&] {
    if constexpr (C::kDirectLoad) {
      WgmmaGemm<C, u16>(o.a.data(), o.b.data(), output, p);
    } else {
      WgmmaGemm<C>(&a, &b, output, p);
    }
  });
  if constexpr (C::kSlices > 1) {
    const int ctas = (p.m * (PartialsPitch(p) / 4) + C::kSumThreads - 1) / C::kSumThreads;
    Launch(ctas, 1, C::kSumThreads, [&] { SumSlices<C>(partials.data(), o.c.data(), p.m, p.n); });
  }
  for (int i = 0; i < p.m * p.n; ++i) {
    ASSERT_EQ(o.c[i], emulated::BitsOf(o.expected[i], C::kBf16))
        << "row " << i / p.n << ", column " << i % p.n;
  }
}

struct Unaligned : Base {
  static constexpr int kTileN = 32;
};
TEST(WgmmaEmulation, DirectStoresOfWholeAndRaggedTiles) {
  ExpectRight<Base>({64, 64, 64});
  ExpectRight<Base>({100, 72, 200});
  ExpectRight<Unaligned>({70, 37, 136});
}

struct RowMajor : Base {
  static constexpr int kTileN = 128, kTileK = 128, kConsumers = 2;
  static constexpr bool kRowMajorB = true, kTmaStore = true;
};
struct Bf16 : RowMajor {
  static constexpr bool kBf16 = true;
};
TEST(WgmmaEmulation, RowMajorBThroughTmaStoresInBothTypes) {
  ExpectRight<RowMajor>({90, 200, 328});
  ExpectRight<Bf16>({90, 136, 72});
}

struct Multicast : Base {
  static constexpr int kClusterM = 2, kClusterN = 2;
};
struct MulticastRows : Multicast {
  static constexpr bool kRowMajorB = true;
};
TEST(WgmmaEmulation, MulticastReachesEveryTileOfACluster) {
  ExpectRight<Multicast>({128, 128, 256});
  ExpectRight<MulticastRows>({100, 136, 200});
}

struct Persistent : Base {
  static constexpr int kTileM = 128, kConsumers = 2, kStages = 3;
  static constexpr bool kPersistent = true, kTmaStore = true;
};
struct Skewed : Persistent {
  static constexpr int kSkew = 1;
};
TEST(WgmmaEmulation, PersistentWarpgroupsRunFreeOrBehindEachOther) {
  ExpectRight<Persistent>({300, 208, 192}, 2);
  ExpectRight<Skewed>({300, 136, 256}, 2);
}

struct Turns : Base {
  static constexpr int kConsumers = 2, kStages = 3;
  static constexpr bool kPersistent = true, kPingPong = true, kTmaStore = true;
};
struct DeepRing : Persistent {
  static constexpr int kStages = 6;
};
struct DeepRingInTurns : Turns {
  static constexpr int kStages = 5;
};
TEST(WgmmaEmulation, ARingMayHoldSeveralTiles) {
  for (const int k : {64, 128}) {
    ExpectRight<DeepRing>({300, 208, k}, 2);
    ExpectRight<DeepRingInTurns>({300, 208, k}, 2);
  }
}

struct Tall : Base {
  static constexpr int kTileM = 192, kConsumers = 3, kStages = 3;
};
struct TallAlone : Tall {
  static constexpr int kConsumers = 1;
};
struct TallSplits : Tall {
  static constexpr int kSplits = 2, kTileN = 128;
};
TEST(WgmmaEmulation, TilesOf192RowsByThreeWarpgroupsAndByOne) {
  ExpectRight<Tall>({384, 72, 256});
  ExpectRight<TallAlone>({200, 64, 128});
  ExpectRight<TallSplits>({192, 136, 64 * 9});
}

struct Odd : Base {
  static constexpr int kTileN = 80;
};
struct OddHalves : Base {
  static constexpr int kTileN = 224, kConsumers = 2, kSlices = 2;
};
struct OddMulticast : Odd {
  static constexpr int kTileN = 144, kClusterM = 2, kStages = 3;
};
struct OddSplits : Odd {
  static constexpr int kTileN = 48, kSplits = 2, kStages = 3;
};
struct OddTurns : Turns {
  static constexpr int kTileN = 160;
};
TEST(WgmmaEmulation, WidthsOfAnyMultipleOf16) {
  ExpectRight<Odd>({100, 168, 200});
  ExpectRight<OddHalves>({70, 300, 64 * 5});
  ExpectRight<OddMulticast>({128, 200, 200});
  ExpectRight<OddSplits>({64, 100, 64 * 5});
  ExpectRight<OddTurns>({130, 200, 200}, 2);
}

struct DirectTurns : Turns {
  static constexpr int kTileM = 128, kStages = 4;
  static constexpr bool kTmaStore = false, kRowMajorB = true;
};
struct MulticastTurns : Turns {
  static constexpr int kClusterM = 2;
};
// More k-blocks than stages, as many, and fewer; an odd and an even count of tiles a CTA.
TEST(WgmmaEmulation, WarpgroupsTakeTurns) {
  for (const int k : {64, 192, 328}) ExpectRight<Turns>({130, 136, k}, 1);
  ExpectRight<Turns>({130, 136, 200}, 4);
  ExpectRight<DirectTurns>({300, 136, 328}, 2);
  ExpectRight<MulticastTurns>({300, 136, 264}, 2);
}

struct Split : Base {
  static constexpr int kSplits = 4, kStages = 4;
};
struct Eight : Base {  // sixteen would take 2560 threads
  static constexpr int kSplits = 8, kStages = 2;
};
struct SplitMulticast : Base {
  static constexpr int kClusterM = 2, kSplits = 2, kStages = 3;
};
TEST(WgmmaEmulation, SplitsOfAClusterAddUp) {
  ExpectRight<Split>({64, 64, 64 * 9});
  ExpectRight<Eight>({60, 40, 64 * 9});
  ExpectRight<SplitMulticast>({128, 64, 64 * 5});
}

struct Sliced : Base {
  static constexpr int kSlices = 3;
};
struct SlicedSplits : Split {
  static constexpr int kSlices = 2, kSumThreads = 32;
  static constexpr bool kBf16 = true;
};
TEST(WgmmaEmulation, SlicesAddUpInTheSecondKernel) {
  ExpectRight<Sliced>({100, 72, 64 * 7});
  ExpectRight<Sliced>({70, 37, 64 * 3});
  ExpectRight<SlicedSplits>({64, 64, 64 * 11});
}

struct Direct : Base {
  static constexpr int kProducerWarps = 4, kTileN = 32;
  static constexpr bool kDirectLoad = true;
};
struct DirectRows : Direct {
  static constexpr int kTileN = 128, kTileK = 128, kSplits = 2, kStages = 2;
  static constexpr bool kRowMajorB = true;
};
TEST(WgmmaEmulation, ThreadsThatCopyFillTheRingAsTmaDoes) {
  ExpectRight<Direct>({100, 37, 328});
  ExpectRight<DirectRows>({70, 136, 648});
}

}  // namespace
}  // namespace warpsmith::hgemm::wgmma
