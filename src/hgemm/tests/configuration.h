// A configuration of the wgmma kernels, for tests that run their headers on the host: every switch
// off, one of everything. Tests name what they change.
#ifndef WARPSMITH_HGEMM_TESTS_CONFIGURATION_H_
#define WARPSMITH_HGEMM_TESTS_CONFIGURATION_H_

namespace warpsmith::hgemm::wgmma {

struct PlainConfiguration {
  static constexpr int kProducerWarps = 1;
  static constexpr int kClusterM = 1, kClusterN = 1, kSplits = 1, kSlices = 1;
  static constexpr int kSkew = 0, kCtasPerSm = 1, kStorePanels = 1;
  static constexpr bool kRasterAlongM = true, kPersistent = false, kPingPong = false;
  static constexpr bool kTmaStore = false, kStreamC = false;
  static constexpr int kOverlap = 0, kSumThreads = 128;
  static constexpr bool kRowMajorB = false, kBf16 = false, kDirectLoad = false;
};

}  // namespace warpsmith::hgemm::wgmma

#endif  // WARPSMITH_HGEMM_TESTS_CONFIGURATION_H_
