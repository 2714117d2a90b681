#include "gemm_library/plan_cache.h"

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

namespace warpsmith::gemm_library {
namespace {

PlanKey Key(int64_t m) {
  PlanKey key;
  key.words[0] = m;
  return key;
}

TEST(PlanCacheTest, FindsWhatWasInsertedAndKeepsTheFirst) {
  PlanCache<std::string> cache;
  EXPECT_EQ(cache.Find(Key(1)), nullptr);
  const std::string* first = cache.Insert(Key(1), "one");
  EXPECT_EQ(cache.Insert(Key(1), "another"), first);
  EXPECT_EQ(*cache.Find(Key(1)), "one");
  for (int64_t m = 2; m < 1000; ++m) cache.Insert(Key(m), std::to_string(m));
  EXPECT_EQ(cache.Find(Key(1)), first);  // it did not move
  for (int64_t m = 2; m < 1000; ++m) EXPECT_EQ(*cache.Find(Key(m)), std::to_string(m));
}

TEST(PlanCacheTest, EveryWordOfTheKeyCounts) {
  PlanCache<int> cache;
  for (int word = 0; word < 8; ++word) {
    PlanKey key;
    key.words[static_cast<size_t>(word)] = 1;
    cache.Insert(key, int{word});
  }
  for (int word = 0; word < 8; ++word) {
    PlanKey key;
    key.words[static_cast<size_t>(word)] = 1;
    EXPECT_EQ(*cache.Find(key), word);
  }
}

TEST(PlanCacheTest, AFullCacheSaysSoAndStillFinds) {
  PlanCache<int> cache;
  for (size_t i = 0; i < PlanCache<int>::kMostEntries; ++i) {
    ASSERT_NE(cache.Insert(Key(static_cast<int64_t>(i)), 1), nullptr);
  }
  EXPECT_EQ(cache.Insert(Key(-1), 1), nullptr);
  EXPECT_NE(cache.Find(Key(7)), nullptr);
  EXPECT_EQ(cache.Find(Key(-1)), nullptr);
}

TEST(PlanCacheTest, ReadersNeverSeeLessThanWasInserted) {
  PlanCache<int64_t> cache;
  std::atomic<int64_t> inserted{0};
  std::atomic<bool> wrong{false};
  const auto read = [&] {
    while (inserted < 5000) {
      const int64_t known = inserted;
      for (int64_t m = 0; m < known; m += 97) {
        const int64_t* found = cache.Find(Key(m));
        if (found == nullptr || *found != m) wrong = true;
      }
    }
  };
  std::vector<std::thread> readers;
  for (int i = 0; i < 3; ++i) readers.emplace_back(read);
  for (int64_t m = 0; m < 5000; ++m) {
    cache.Insert(Key(m), int64_t{m});
    inserted = m + 1;
  }
  for (std::thread& reader : readers) reader.join();
  EXPECT_FALSE(wrong);
}

}  // namespace
}  // namespace warpsmith::gemm_library
