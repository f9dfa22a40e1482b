#include "capstan/data/formats/restart_points.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "capstan/base/hash.h"
#include "capstan/data/formats/line_reader.h"
#include "tests/lib/test_folder.h"
#include "tests/unit/data/files.h"

namespace capstan {
namespace {

using testing::HasSubstr;

constexpr uint64_t kLines = 150'000;  // 4 MB in all.
constexpr uint64_t kDistance = uint64_t{256} << 10;

// The line of each number begins with it.
std::string NumberedLines() {
  std::string text;
  for (uint64_t i = 0; i < kLines; ++i) {
    absl::StrAppend(&text, i, " ", Draw(/*seed=*/3, /*stream=*/0, i), "\n");
  }
  return text;
}

// As pieces of about so many bytes, each a member or a frame of its own.
std::string Packed(const std::string& text, size_t piece, std::string (*pack)(std::string_view)) {
  std::string packed;
  for (size_t at = 0; at < text.size(); at += piece) packed += pack(text.substr(at, piece));
  return packed;
}

class RestartPointsTest : public testing::Test {
 protected:
  // Reads `count` lines from line `first` on, and expects that they are those; returns from which
  // line the file was read.
  uint64_t ExpectLines(const std::string& path, uint64_t first, uint64_t count) {
    absl::StatusOr<RestartPoints::Start> start = points_.Open(files_, path, first);
    EXPECT_TRUE(start.ok()) << start.status();
    EXPECT_LE(start->record, first);
    LineReader lines(path, std::move(start->contents), start->offset);
    const uint64_t end = std::min(first + count, kLines);
    std::string_view line;
    for (uint64_t number = start->record; number < end; ++number) {
      points_.Mark(number, lines.next_offset());
      if (!lines.Next(line)) break;
      if (line.substr(0, line.find(' ')) == std::to_string(number)) continue;
      ADD_FAILURE() << "expected line " << number << ", found " << line;
      break;
    }
    EXPECT_TRUE(lines.status().ok()) << lines.status();
    return start->record;
  }

  // The status at the end of the file, read from as near as can be to `first` on.
  absl::Status ReadToTheEnd(const std::string& path, uint64_t first) {
    absl::StatusOr<RestartPoints::Start> start = points_.Open(files_, path, first);
    if (!start.ok()) return start.status();
    begun_at_ = start->record;
    return ReadAll(*start->contents).status();
  }

  TestFolder folder_;
  const MeteredFiles files_{};
  RestartPoints points_{{.distance = kDistance, .points = 100}};
  const std::string text_ = NumberedLines();
  uint64_t begun_at_ = 0;
};

TEST_F(RestartPointsTest, EachLineIsFoundAgainFromNearby) {
  const std::vector<std::string> files = {
      folder_.Write("one.gz", Gzip(text_)),
      folder_.Write("members.gz", Packed(text_, 100'000, Gzip)),
      folder_.Write("frames.zst", Packed(text_, 100'000, Zstd)),
  };
  for (const std::string& path : files) {
    EXPECT_EQ(ExpectLines(path, 0, kLines), 0u) << path;
    for (uint64_t i = 0; i < 40; ++i) {
      const uint64_t first = Draw(/*seed=*/4, /*stream=*/0, i) % kLines;
      const uint64_t begun = ExpectLines(path, first, 500);
      // What one reads at a time lies between, too.
      const uint64_t far = (2 * kDistance + 300'000) * kLines / text_.size();
      EXPECT_LE(first - begun, far) << path << " " << first;
    }
  }
}

TEST_F(RestartPointsTest, APlainFileAndAZstdOfOneFrameAreReadFromTheirFront) {
  for (const std::string& path :
       {folder_.Write("a.csv", text_), folder_.Write("a.zst", Zstd(text_))}) {
    ExpectLines(path, 0, kLines);
    EXPECT_EQ(ExpectLines(path, kLines - 10, 10), 0u);
  }
}

TEST_F(RestartPointsTest, BeyondWhatHasBeenReadItGoesOnFromTheLastPoint) {
  const std::string path = folder_.Write("a.gz", Gzip(text_));
  ExpectLines(path, 0, kLines / 2);
  const uint64_t begun = ExpectLines(path, kLines * 3 / 4, 10);
  EXPECT_GT(begun, kLines / 4);
  EXPECT_LE(begun, kLines / 2);
  EXPECT_GT(ExpectLines(path, kLines * 3 / 4, 10), kLines / 2);
}

TEST_F(RestartPointsTest, TellsWhetherItIsNearerThanWhoeverAsks) {
  const std::string path = folder_.Write("a.gz", Gzip(text_));
  ExpectLines(path, 0, kLines);
  EXPECT_TRUE(points_.IsNearer(path, kLines - 1, 0));
  EXPECT_FALSE(points_.IsNearer(path, kLines - 1, text_.size() - 100));
  EXPECT_FALSE(points_.IsNearer(path, 10, 0));
  EXPECT_FALSE(points_.IsNearer(folder_.Path("other.gz"), kLines - 1, 0));
}

TEST_F(RestartPointsTest, TooManyPointsLieFartherApart) {
  RestartPoints few({.distance = 4096, .points = 8});
  const std::string path = folder_.Write("members.gz", Packed(text_, 10'000, Gzip));
  absl::StatusOr<RestartPoints::Start> start = few.Open(files_, path, 0);
  LineReader lines(path, std::move(start->contents), 0);
  std::string_view line;
  for (uint64_t number = 0; lines.Next(line); ++number) few.Mark(number + 1, lines.next_offset());
  std::vector<uint64_t> begins;
  for (uint64_t record = 0; record < kLines; record += 100) {
    begins.push_back(few.Open(files_, path, record)->record);
  }
  begins.erase(std::unique(begins.begin(), begins.end()), begins.end());
  EXPECT_LE(begins.size(), 9u) << "with the front";
  EXPECT_GE(begins.size(), 4u);
}

TEST_F(RestartPointsTest, AFileThatHasChangedIsReadFromItsFront) {
  const std::string path = folder_.Write("a.gz", Gzip(text_));
  ExpectLines(path, 0, kLines);
  EXPECT_GT(ExpectLines(path, kLines - 10, 10), 0u);
  folder_.Write("a.gz", Gzip("0 the only line\n" + text_.substr(text_.find('\n') + 1)));
  EXPECT_EQ(ExpectLines(path, kLines - 10, 10), 0u);
  folder_.Write("a.gz", Gzip("0\n"));
  EXPECT_EQ(ExpectLines(path, 0, 1), 0u);
}

TEST_F(RestartPointsTest, AFileThatIsDamagedBehindAPointIsRefusedByName) {
  const std::string whole = Gzip(text_);
  const std::string path = folder_.Write("a.gz", whole);
  ExpectLines(path, 0, kLines);
  EXPECT_TRUE(ReadToTheEnd(path, kLines - 10).ok());
  EXPECT_GT(begun_at_, kLines / 2);

  std::string wrong_sum = whole;
  wrong_sum[wrong_sum.size() - 6] ^= 1;  // Of the whole member, most of which is not read now.
  folder_.Write("a.gz", wrong_sum);
  absl::Status status = ReadToTheEnd(path, kLines - 10);
  EXPECT_GT(begun_at_, kLines / 2);
  EXPECT_TRUE(absl::IsDataLoss(status));
  EXPECT_THAT(std::string(status.message()), HasSubstr(path + ": byte "));
  EXPECT_THAT(std::string(status.message()), HasSubstr("incorrect data check"));

  folder_.Write("a.gz", whole.substr(0, whole.size() - 1));
  status = ReadToTheEnd(path, kLines - 10);
  EXPECT_GT(begun_at_, kLines / 2);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr(absl::StrCat(path, ": byte ", whole.size() - 1,
                                     ": the gzip data ends early; is the file truncated?")));
}

}  // namespace
}  // namespace capstan
