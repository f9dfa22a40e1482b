#include "capstan/process/heaps.h"

#include <gtest/gtest.h>
#include <malloc.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "absl/synchronization/barrier.h"

namespace capstan {
namespace {

constexpr uint64_t kMebibyte = uint64_t{1} << 20;

// How many heaps this process has, as glibc tells it.
int Heaps() {
  char* text = nullptr;
  size_t size = 0;
  std::FILE* const out = open_memstream(&text, &size);
  malloc_info(0, out);
  std::fclose(out);
  const std::string_view told(text, size);
  int heaps = 0;
  for (size_t at = 0; (at = told.find("<heap nr=", at)) != told.npos; ++at) ++heaps;
  std::free(text);
  return heaps;
}

// Each of so many threads takes memory while the others are there.
void TakeMemoryIn(int threads) {
  auto* const all_have = new absl::Barrier(threads);
  std::vector<std::thread> running;
  for (int i = 0; i < threads; ++i) {
    running.emplace_back([all_have] {
      const std::string memory(1 << 16, 'x');
      if (all_have->Block()) delete all_have;
    });
  }
  for (std::thread& thread : running) thread.join();
}

TEST(HeapsTest, AThreadMoreMakesNoHeapMoreThanTheLimit) {
  LimitHeaps(2);
  TakeMemoryIn(6);
  EXPECT_LE(Heaps(), 2);
}

TEST(HeapsTest, AProcessOfLittleMemoryHasTwoHeapsAndKeepsLittleInThem) {
  EXPECT_EQ(HeapsFor(256 * kMebibyte), 2);
  EXPECT_EQ(HeapsFor(1024 * kMebibyte), 4);
  EXPECT_EQ(KeptBytesFor(256 * kMebibyte), 16 * kMebibyte);
  EXPECT_EQ(KeptBytesFor(kMebibyte), kMebibyte);
}

TEST(HeapsTest, HoweverMuchMemoryThereIsNoCoreHasMoreThanEightHeaps) {
  EXPECT_EQ(HeapsFor(uint64_t{1} << 50), static_cast<int>(8 * std::thread::hardware_concurrency()));
  EXPECT_EQ(KeptBytesFor(uint64_t{1} << 50), 64 * kMebibyte);
}

}  // namespace
}  // namespace capstan
