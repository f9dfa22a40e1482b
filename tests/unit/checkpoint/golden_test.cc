// Files of all formats must be readable for ever, and be written as they were. The golden files are
// made by CAPSTAN_WRITE_GOLDEN=1 unit_checkpoint --gtest_filter='Golden*', once for each format.
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "capstan/checkpoint/checkpoint.h"
#include "capstan/checkpoint/manifest.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/checkpoint/small_partition.h"

namespace capstan {
namespace {

// The golden file, which is written anew if that is asked for.
std::string Golden(const std::string& name, const std::string& written) {
  const std::string path = std::string(CAPSTAN_GOLDEN_FOLDER) + "/" + name;
  if (std::getenv("CAPSTAN_WRITE_GOLDEN") != nullptr) {
    std::ofstream(path, std::ios::binary) << written;
  }
  std::ifstream file(path, std::ios::binary);
  std::stringstream golden;
  golden << file.rdbuf();
  EXPECT_FALSE(golden.str().empty()) << path;
  return golden.str();
}

// The row of key 1001.
std::vector<float> RowOf(const DecodedPartition& partition) {
  const std::vector<uint64_t> keys = {1001};
  std::vector<float> row(2);
  partition.store->FindTable(TableId{1})->Pull(keys, row.data());
  return row;
}

TEST(GoldenTest, APartitionIsReadAndWrittenAsEver) {
  const std::string golden = Golden("partition-format-1.capstan", EncodedSmallPartition());
  EXPECT_EQ(EncodedSmallPartition(), golden);
  const v1::JobSpec job = SmallJob();
  const auto decoded = DecodePartition(golden, job, LayoutOf(job), PartitionIndex{1});
  ASSERT_TRUE(decoded.ok()) << decoded.status();
  // The first push only made it a candidate: one step of Adam, 0.5 * 1.5 / (1.5 + 1) below zero.
  EXPECT_THAT(RowOf(*decoded), testing::Each(testing::FloatNear(-0.3f, 1e-6f)));
}

TEST(GoldenTest, ADeltaIsReadAndWrittenAsEver) {
  const std::string golden = Golden("partition-format-1-delta.capstan", EncodedSmallDelta());
  EXPECT_EQ(EncodedSmallDelta(), golden);
  const v1::JobSpec job = SmallJob();
  auto decoded = DecodePartition(EncodedSmallPartition(), job, LayoutOf(job), PartitionIndex{1});
  ASSERT_TRUE(decoded.ok()) << decoded.status();
  const absl::Status applied = ApplyDelta(golden, job, "100-a", *decoded);
  ASSERT_TRUE(applied.ok()) << applied;
  // A second step of Adam with the same gradient is as long as the first.
  EXPECT_THAT(RowOf(*decoded), testing::Each(testing::FloatNear(-0.6f, 1e-6f)));
  EXPECT_EQ(decoded->store->row_count(), 3u);
}

TEST(GoldenTest, AManifestIsReadAndWrittenAsEver) {
  const std::string golden = Golden("MANIFEST-format-1.json", *ManifestText(SmallManifest()));
  EXPECT_EQ(*ManifestText(SmallManifest()), golden);
  const auto parsed = ParseManifest(golden);
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ(parsed->parent(), "100-a");
  EXPECT_EQ(parsed->progress().examples(), 204'800u);
  EXPECT_TRUE(parsed->files(1).delta());
}

TEST(GoldenTest, AManifestWhoseFilesShareAnObjectIsReadAndWrittenAsEver) {
  const std::string written = *ManifestText(SmallManifestOfOneObject());
  const std::string golden = Golden("MANIFEST-format-2.json", written);
  EXPECT_EQ(written, golden);
  const auto parsed = ParseManifest(golden);
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ(parsed->files(1).name(), parsed->files(0).name());
  EXPECT_EQ(parsed->files(1).offset(), 1000u);
  EXPECT_EQ(ObjectBytes(parsed->files(1)), 2001u);
}

}  // namespace
}  // namespace capstan
