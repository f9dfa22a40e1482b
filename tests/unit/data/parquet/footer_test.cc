#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "capstan/data/parquet/metadata.h"
#include "tests/unit/data/parquet/thrift_struct.h"

namespace capstan::parquet {
namespace {

using testing::HasSubstr;

constexpr int64_t kInt32Type = 1;
constexpr uint64_t kBytesOfPages = 1000;

struct PlacedChunk {
  int64_t data = 4;
  int64_t bytes = 100;
  int64_t dictionary = 0;
  int64_t type = kInt32Type;
};

ThriftStruct ChunkOf(const PlacedChunk& chunk) {
  ThriftStruct about;
  about.Int(1, chunk.type).Int(4, 6).Int(5, 3).Int(7, chunk.bytes).Int(9, chunk.data);
  if (chunk.dictionary != 0) about.Int(11, chunk.dictionary);
  return ThriftStruct().Struct(3, about);
}

ThriftStruct GroupOf(const std::vector<ThriftStruct>& chunks, int64_t rows) {
  return ThriftStruct().List(1, chunks).Int(3, rows);
}

// The footer of a file of one column, x.
std::string FooterOf(const std::vector<ThriftStruct>& groups, int64_t rows) {
  return ThriftStruct()
      .Int(1, 2)
      .List(2, {BranchNode("schema", 1), LeafNode("x", kInt32Type)})
      .Int(3, rows)
      .List(4, groups)
      .bytes();
}

std::string ErrorOfFooter(const std::vector<ThriftStruct>& groups, int64_t rows) {
  const absl::StatusOr<FileMetadata> parsed = ParseFooter(FooterOf(groups, rows), kBytesOfPages);
  EXPECT_EQ(parsed.status().code(), absl::StatusCode::kDataLoss);
  return std::string(parsed.status().message());
}

TEST(FooterTest, AChunkBeginsWithItsDictionaryIfThereIsOne) {
  const auto parsed = ParseFooter(FooterOf({GroupOf({ChunkOf({.data = 50, .dictionary = 4})}, 3),
                                            GroupOf({ChunkOf({.data = 200, .bytes = 800})}, 2)},
                                           5),
                                  kBytesOfPages);
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ(parsed->rows, 5u);
  ASSERT_EQ(parsed->row_groups.size(), 2u);
  const Chunk& first = parsed->row_groups[0].chunks[0];
  EXPECT_EQ(first.begin, 4u);
  EXPECT_EQ(first.end, 104u);
  EXPECT_EQ(first.values, 3u);
  EXPECT_EQ(first.codec, 6);
  EXPECT_EQ(parsed->row_groups[1].first_row, 3u);
  EXPECT_EQ(parsed->row_groups[1].chunks[0].end, kBytesOfPages);
}

TEST(FooterTest, AChunkBeyondThePagesIsRefused) {
  for (const PlacedChunk& chunk :
       {PlacedChunk{.data = 901}, PlacedChunk{.bytes = 997}, PlacedChunk{.data = -1},
        PlacedChunk{.bytes = -1}, PlacedChunk{.data = INT64_MAX}, PlacedChunk{.bytes = INT64_MAX},
        PlacedChunk{.data = INT64_MIN, .dictionary = 4}}) {
    EXPECT_EQ(ErrorOfFooter({GroupOf({ChunkOf(chunk)}, 3)}, 3),
              "the footer speaks of bytes that are not in the file")
        << chunk.data << " " << chunk.bytes;
  }
}

TEST(FooterTest, TheRowsOfTheFileAreThoseOfItsRowGroups) {
  EXPECT_EQ(ErrorOfFooter({GroupOf({ChunkOf({})}, 3)}, 4),
            "the footer speaks of 4 rows, its row groups of 3");
  EXPECT_EQ(ErrorOfFooter({GroupOf({ChunkOf({})}, -1)}, -1),
            "the footer's row groups are malformed");
}

TEST(FooterTest, EachRowGroupHasTheColumnsOfTheSchema) {
  EXPECT_EQ(ErrorOfFooter({GroupOf({}, 3)}, 3), "a row group has 0 columns, the schema has 1");
  EXPECT_EQ(ErrorOfFooter({GroupOf({ChunkOf({}), ChunkOf({})}, 3)}, 3),
            "a row group has 2 columns, the schema has 1");
  EXPECT_EQ(ErrorOfFooter({GroupOf({ChunkOf({.type = 5})}, 3)}, 3),
            "a row group has other types than the schema");
}

// Nobody looks for the columns of a row group that lacks them, however many rows there are.
TEST(FooterTest, RowsBeyondMeasureDoNotHideThatARowGroupHasNoColumns) {
  constexpr int64_t kMost = int64_t{1} << 48;
  EXPECT_TRUE(ParseFooter(FooterOf({GroupOf({ChunkOf({})}, kMost)}, kMost), kBytesOfPages).ok());
  EXPECT_EQ(ErrorOfFooter({GroupOf({ChunkOf({})}, 3), GroupOf({}, kMost)}, kMost + 3),
            "its row groups have more than 281474976710656 rows");
  EXPECT_EQ(ErrorOfFooter({GroupOf({ChunkOf({})}, kMost + 1)}, kMost + 1),
            "the footer's row groups are malformed");
}

TEST(FooterTest, AChunkThatIsElsewhereOrEncryptedCannotBeRead) {
  const ThriftStruct elsewhere = ThriftStruct().Text(1, "other.parquet").Int(2, 4);
  const ThriftStruct encrypted = ThriftStruct().Int(2, 4).Struct(8, {});
  const auto parsed =
      ParseFooter(FooterOf({GroupOf({elsewhere}, 3), GroupOf({encrypted}, 1)}, 4), kBytesOfPages);
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ(parsed->row_groups[0].chunks[0].unreadable, "lies in another file");
  EXPECT_EQ(parsed->row_groups[1].chunks[0].unreadable, "is encrypted");
  EXPECT_THAT(ErrorOfFooter({GroupOf({ThriftStruct().Int(2, 4)}, 3)}, 3), HasSubstr("malformed"));
}

TEST(FooterTest, AFooterThatEndsEarlyIsMalformedWhereverItEnds) {
  const std::string footer = FooterOf({GroupOf({ChunkOf({})}, 3)}, 3);
  ASSERT_TRUE(ParseFooter(footer, kBytesOfPages).ok());
  for (size_t size = 0; size < footer.size(); ++size) {
    EXPECT_EQ(ParseFooter(footer.substr(0, size), kBytesOfPages).status().code(),
              absl::StatusCode::kDataLoss)
        << size;
  }
}

}  // namespace
}  // namespace capstan::parquet
