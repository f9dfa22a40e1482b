// Files of format 1 must be readable for ever, and be written as they were. The golden file is made
// by CAPSTAN_WRITE_GOLDEN=1 unit_checkpoint --gtest_filter='Golden*', once for each format.
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/checkpoint/small_partition.h"

namespace capstan {
namespace {

const char kPath[] = CAPSTAN_GOLDEN_FOLDER "/partition-format-1.capstan";

TEST(GoldenPartitionFileTest, IsReadAndWrittenAsEver) {
  if (std::getenv("CAPSTAN_WRITE_GOLDEN") != nullptr) {
    std::ofstream(kPath, std::ios::binary) << EncodedSmallPartition();
  }
  std::ifstream file(kPath, std::ios::binary);
  std::stringstream golden;
  golden << file.rdbuf();
  ASSERT_FALSE(golden.str().empty()) << kPath;
  EXPECT_EQ(EncodedSmallPartition(), golden.str());
  const v1::JobSpec job = SmallJob();
  const auto decoded = DecodePartition(golden.str(), job, LayoutOf(job), PartitionIndex{1});
  ASSERT_TRUE(decoded.ok()) << decoded.status();
  const std::vector<uint64_t> keys = {1001};
  std::vector<float> row(2);
  decoded->store->FindTable(TableId{1})->Pull(keys, row.data());
  // The first push only made it a candidate: one step of Adam, 0.5 * 1.5 / (1.5 + 1) below zero.
  EXPECT_THAT(row, testing::Each(testing::FloatNear(-0.3f, 1e-6f)));
}

}  // namespace
}  // namespace capstan
