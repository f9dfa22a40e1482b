#include "capstan/data/parquet/ranged_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace capstan::parquet {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// A file whose streams give ten bytes at a time, and fail where they are told to.
class TenBytesAtATime : public Source {
 public:
  explicit TenBytesAtATime(std::string text) : text_(std::move(text)) {}

  absl::StatusOr<std::vector<FileInfo>> List(const std::string&) const override {
    return absl::UnimplementedError("");
  }
  absl::StatusOr<FileInfo> Find(const std::string&) const override {
    return absl::UnimplementedError("");
  }
  absl::StatusOr<std::unique_ptr<ByteStream>> Open(const std::string&, uint64_t offset,
                                                   uint64_t) const override {
    opened.push_back(offset);
    return std::make_unique<Stream>(*this, offset);
  }

  mutable std::vector<uint64_t> opened;    // From which bytes on.
  mutable uint64_t fails_at = UINT64_MAX;  // The next read that begins here fails, once.

 private:
  class Stream : public ByteStream {
   public:
    Stream(const TenBytesAtATime& file, uint64_t at) : file_(file), at_(at) {}
    absl::StatusOr<size_t> Read(std::span<char> buffer) override {
      if (at_ == file_.fails_at) {
        file_.fails_at = UINT64_MAX;
        return absl::UnavailableError("broken");
      }
      const size_t n = std::min({buffer.size(), size_t{10}, file_.text_.size() - at_});
      std::copy_n(file_.text_.data() + at_, n, buffer.data());
      at_ += n;
      return n;
    }

   private:
    const TenBytesAtATime& file_;
    size_t at_;
  };

  const std::string text_;
};

std::string ManyLetters(size_t size) {
  std::string text;
  for (size_t i = 0; i < size; ++i) text.push_back(static_cast<char>('a' + i % 23));
  return text;
}

TEST(RangedFileTest, WhatIsAheadIsReadInOneStreamAndWhatIsElsewhereInAnother) {
  const uint64_t far = RangedFile::kMostPassed + 200;
  const std::string text = ManyLetters(far + 100);
  const TenBytesAtATime source(text);
  RangedFile file(source, {"file", text.size()});
  std::vector<char> bytes;
  EXPECT_EQ(*file.Peek(0, 25), text.substr(0, 25));
  EXPECT_EQ(*file.Peek(5, 30), text.substr(5, 30));
  ASSERT_TRUE(file.Read(20, 40, bytes).ok());
  EXPECT_EQ(std::string(bytes.begin(), bytes.end()), text.substr(20, 40));
  EXPECT_EQ(*file.Peek(100, 5), text.substr(100, 5));
  EXPECT_THAT(source.opened, ElementsAre(0));
  EXPECT_EQ(*file.Peek(50, 5), text.substr(50, 5)) << "which has been passed";
  EXPECT_EQ(*file.Peek(far + 60, 5), text.substr(far + 60, 5));
  EXPECT_THAT(source.opened, ElementsAre(0, 50, far + 60));
}

TEST(RangedFileTest, AtTheEndThereIsLess) {
  const TenBytesAtATime source(ManyLetters(25));
  RangedFile file(source, {"file", 25});
  std::vector<char> bytes;
  EXPECT_EQ(*file.Peek(20, 100), ManyLetters(25).substr(20));
  EXPECT_EQ(*file.Peek(25, 100), "");
  EXPECT_TRUE(file.Read(25, 0, bytes).ok());
  EXPECT_TRUE(bytes.empty());
  EXPECT_EQ(file.Read(20, 6, bytes),
            absl::DataLossError("file: ends at byte 25 of 6 bytes that begin at 20; is the file "
                                "truncated?"));
}

TEST(RangedFileTest, AFileThatHasBecomeShorterSaysSo) {
  const TenBytesAtATime source(ManyLetters(25));
  RangedFile file(source, {"file", 1000});
  ASSERT_TRUE(file.Peek(0, 5).ok());
  EXPECT_THAT(std::string(file.Peek(100, 5).status().message()),
              HasSubstr("file: ends at byte 25, and has had 1000: it has become shorter"));
}

TEST(RangedFileTest, AfterAnErrorTheSameBytesAreReadAnew) {
  const std::string text = ManyLetters(100);
  const TenBytesAtATime source(text);
  RangedFile file(source, {"file", text.size()});
  ASSERT_TRUE(file.Peek(0, 5).ok());
  source.fails_at = 25;
  EXPECT_EQ(file.Peek(0, 50).status(), absl::UnavailableError("broken"));
  EXPECT_EQ(*file.Peek(22, 3), text.substr(22, 3)) << "which had been read before it failed";
  EXPECT_EQ(*file.Peek(0, 50), text.substr(0, 50));
}

TEST(RangedFileTest, AfterAnErrorOnTheWayNothingIsTakenForTheBytesBeforeIt) {
  const std::string text = ManyLetters(200);
  const TenBytesAtATime source(text);
  RangedFile file(source, {"file", text.size()});
  ASSERT_TRUE(file.Peek(80, 20).ok());
  source.fails_at = 110;
  EXPECT_EQ(file.Peek(120, 5).status(), absl::UnavailableError("broken"));
  EXPECT_EQ(*file.Peek(95, 10), text.substr(95, 10));
  EXPECT_EQ(*file.Peek(120, 5), text.substr(120, 5));
}

}  // namespace
}  // namespace capstan::parquet
