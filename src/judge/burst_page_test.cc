#include "judge/burst_page.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>

namespace warpsmith::judge {
namespace {

TEST(BurstPage, BothEndsSeeTheSamePage) {
  auto oracle = BurstPage::Create(2);
  ASSERT_TRUE(oracle.ok());
  auto peer = BurstPage::Map(oracle->descriptor());
  ASSERT_TRUE(peer.ok()) << peer.error().Line();
  EXPECT_EQ(peer->roles(), 2u);
  oracle->Release(0, std::array<uint32_t, 2>{3, 4});
  EXPECT_EQ(peer->released(), 1u);
  EXPECT_EQ(peer->slots(), (std::vector<uint32_t>{3, 4}));
  peer->AnnounceDone(0);
  EXPECT_EQ(oracle->done(), 1u);
}

// Touching memory past the end of its file is a bus error.
TEST(BurstPage, AFileShorterThanAPageIsRefused) {
  const FileDescriptor file(memfd_create("short", MFD_CLOEXEC));
  for (const off_t bytes : {off_t{0}, static_cast<off_t>(kBurstPageBytes) - 1}) {
    ASSERT_EQ(ftruncate(file.number(), bytes), 0);
    EXPECT_FALSE(BurstPage::Map(file.number()).ok());
  }
}

TEST(BurstPage, AnotherFileIsRefused) {
  const FileDescriptor file(memfd_create("zeros", MFD_CLOEXEC));
  ASSERT_EQ(ftruncate(file.number(), static_cast<off_t>(kBurstPageBytes)), 0);
  EXPECT_FALSE(BurstPage::Map(file.number()).ok());
}

}  // namespace
}  // namespace warpsmith::judge
