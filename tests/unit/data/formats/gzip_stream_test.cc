#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "capstan/data/formats/compression.h"
#include "tests/unit/data/files.h"
#include "tests/unit/data/formats/kept_points.h"

namespace capstan {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

absl::StatusOr<std::string> Gunzipped(const std::string& file, size_t piece = 1000) {
  return ReadAll(*NewGzipStream("a.gz", NewTextStream(file, piece)));
}

TEST(GzipStreamTest, BytesMayComeOneByOneAndMembersMayBeEmpty) {
  const std::string text = SomeLines(500);
  EXPECT_EQ(*Gunzipped(Gzip("") + Gzip(text) + Gzip("") + Gzip("end"), /*piece=*/1), text + "end");
  EXPECT_EQ(*Gunzipped(Gzip("")), "");
  EXPECT_EQ(*Gunzipped(""), "");
}

TEST(GzipStreamTest, ABufferOfNoBytesTakesNothing) {
  const auto stream = NewGzipStream("a.gz", NewTextStream(Gzip("abc"), /*piece=*/1000));
  EXPECT_EQ(*stream->Read({}), 0u);
  EXPECT_EQ(*ReadAll(*stream), "abc");
  char more[1];
  EXPECT_EQ(*stream->Read(more), 0u) << "the end stays the end";
}

TEST(GzipStreamTest, WhereverItIsCutTheErrorNamesTheEnd) {
  const std::string file = Gzip(SomeLines(20)) + Gzip("end");
  const size_t first = Gzip(SomeLines(20)).size();
  for (size_t size = 1; size < file.size(); ++size) {
    const auto text = Gunzipped(file.substr(0, size));
    ASSERT_EQ(text.ok(), size == first) << size;
    if (text.ok()) continue;
    EXPECT_EQ(text.status(), absl::DataLossError(absl::StrCat("a.gz: byte ", size,
                                                              ": the gzip data ends early; "
                                                              "is the file truncated?")));
  }
}

TEST(GzipStreamTest, ZerosBehindAMemberArePaddingAndZerosBeforeItAreDamage) {
  EXPECT_EQ(*Gunzipped(Gzip("abc") + std::string(1000, '\0'), /*piece=*/7), "abc");
  const auto zeros_first = Gunzipped(std::string(4, '\0') + Gzip("abc"));
  EXPECT_EQ(zeros_first.status().code(), absl::StatusCode::kDataLoss);
  const auto text_behind = Gunzipped(Gzip("abc") + "text");
  EXPECT_THAT(std::string(text_behind.status().message()), StartsWith("a.gz: byte "));
  EXPECT_THAT(std::string(text_behind.status().message()),
              HasSubstr("malformed gzip data: incorrect header check"));
}

TEST(GzipStreamTest, CanBeRestartedWithinMembersAndBetweenThem) {
  const std::string text = SomeLines(3000);
  const std::string file =
      Gzip(text.substr(0, 9500)) + Gzip(text.substr(9500, 3750)) + Gzip(text.substr(13250));
  const auto points = ExpectRestTextAtEachPoint(NewGzipStream, file, text);
  EXPECT_GT(points.size(), 10u);
  const auto within = [](const RestartPoint& point) { return point.state != nullptr; };
  EXPECT_TRUE(std::any_of(points.begin(), points.end(), within));
}

}  // namespace
}  // namespace capstan
