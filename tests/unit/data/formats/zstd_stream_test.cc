#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "capstan/data/formats/compression.h"
#include "tests/unit/data/bytes_of.h"
#include "tests/unit/data/files.h"
#include "tests/unit/data/formats/kept_points.h"

namespace capstan {
namespace {

using testing::StartsWith;

absl::StatusOr<std::string> Unzstded(const std::string& file, size_t piece = 1000) {
  return ReadAll(*NewZstdStream("a.zst", NewTextStream(file, piece)));
}

TEST(ZstdStreamTest, BytesMayComeOneByOneAndFramesMayBeEmpty) {
  const std::string text = SomeLines(500);
  EXPECT_EQ(*Unzstded(Zstd("") + Zstd(text) + Zstd("") + Zstd("end"), /*piece=*/1), text + "end");
  EXPECT_EQ(*Unzstded(Zstd("")), "");
  EXPECT_EQ(*Unzstded(""), "");
}

TEST(ZstdStreamTest, AFrameToBeSkippedHasNoContent) {
  const std::string skipped = BytesOf({0x50, 0x2A, 0x4D, 0x18, 4, 0, 0, 0}) + "note";
  EXPECT_EQ(*Unzstded(skipped + Zstd("abc") + skipped, /*piece=*/3), "abc");
}

TEST(ZstdStreamTest, ABufferOfNoBytesTakesNothing) {
  const auto stream = NewZstdStream("a.zst", NewTextStream(Zstd("abc"), /*piece=*/1000));
  EXPECT_EQ(*stream->Read({}), 0u);
  EXPECT_EQ(*ReadAll(*stream), "abc");
  char more[1];
  EXPECT_EQ(*stream->Read(more), 0u) << "the end stays the end";
}

TEST(ZstdStreamTest, WhereverItIsCutTheErrorNamesTheEnd) {
  const std::string file = Zstd(SomeLines(20)) + Zstd("end");
  const size_t first = Zstd(SomeLines(20)).size();
  for (size_t size = 1; size < file.size(); ++size) {
    const auto text = Unzstded(file.substr(0, size));
    ASSERT_EQ(text.ok(), size == first) << size;
    if (text.ok()) continue;
    EXPECT_EQ(text.status(), absl::DataLossError(absl::StrCat("a.zst: byte ", size,
                                                              ": the zstd data ends early; "
                                                              "is the file truncated?")));
  }
}

TEST(ZstdStreamTest, WhatIsBehindAFrameIsAFrame) {
  const auto behind = Unzstded(Zstd("abc") + "some text");
  EXPECT_EQ(behind.status().code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(behind.status().message()), StartsWith("a.zst: byte "));
}

TEST(ZstdStreamTest, CanBeRestartedWhereAFrameBegins) {
  const std::string text = SomeLines(3000);
  const std::string first = Zstd(text.substr(0, 9500));
  const std::string second = Zstd(text.substr(9500, 3750));
  const auto points =
      ExpectRestTextAtEachPoint(NewZstdStream, first + second + Zstd(text.substr(13250)), text);
  ASSERT_GE(points.size(), 2u);
  EXPECT_EQ(points[0].content, 9500u);
  EXPECT_EQ(points[0].stored, first.size());
  EXPECT_EQ(points[1].content, 13250u);
  EXPECT_EQ(points[1].stored, first.size() + second.size());
}

}  // namespace
}  // namespace capstan
