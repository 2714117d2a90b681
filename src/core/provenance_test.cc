#include "core/provenance.h"

#include <gmock/gmock.h>

namespace warpsmith {
namespace {

TEST(ShortUuid, TellsOneGpuFromAnother) {
  EXPECT_EQ(ShortUuid("GPU-1a2b3c4d-5e6f-7081-92a3-b4c5d6e7f809"), "GPU-1a2b3c4d");
  EXPECT_EQ(ShortUuid("GPU-1"), "GPU-1");
  EXPECT_EQ(ShortUuid(""), "none");
}

TEST(CommandText, LeavesFoldersOut) {
  EXPECT_EQ(CommandText({"/opt/bin/warpsmith", "hgemm", "bench", "--csv", "/data/x/a.csv",
                         "--against=/lib/b.so", "--slice", "1/2", "data/c.csv"}),
            "warpsmith hgemm bench --csv a.csv --against=b.so --slice 1/2 data/c.csv");
  EXPECT_EQ(CommandText({"a\nb", "--x"}), "a b --x");
  EXPECT_EQ(CommandText({"tune", "--store", "postgresql://me:secret@host/db"}),
            "tune --store postgresql:");
  EXPECT_EQ(CommandText({"tune", "--store=postgres://me:secret@host/db"}),
            "tune --store=postgres:");
}

TEST(ProvenanceText, SaysWhereWhenAndByWhat) {
  DeviceInfo device;
  device.name = "NVIDIA H200";
  device.uuid = "GPU-1a2b3c4d-5e6f";
  device.driver = "580.95";
  EXPECT_THAT(ProvenanceText(device, "warpsmith x"),
              testing::MatchesRegex("NVIDIA H200, GPU-1a2b3c4d, driver 580.95, "
                                    "20..-..-..T..:..:..Z, commit [^ ]+, warpsmith x"));
}

}  // namespace
}  // namespace warpsmith
