#include "capstan/data/tasks/open_ahead.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace capstan {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

// Keeps what was opened, and cannot open the file "gone".
class RecordedSource : public Source {
 public:
  absl::StatusOr<std::vector<FileInfo>> List(const std::string& pattern) const override {
    return absl::NotFoundError(pattern);
  }
  absl::StatusOr<FileInfo> Find(const std::string& path) const override {
    return absl::NotFoundError(path);
  }
  absl::StatusOr<std::unique_ptr<ByteStream>> Open(const std::string& path, uint64_t offset,
                                                   uint64_t likely_end) const override {
    opened.push_back(absl::StrCat(path, " ", offset, "-", likely_end));
    if (path == "gone") return absl::NotFoundError("gone: No such file");
    return std::unique_ptr<ByteStream>();
  }

  mutable std::vector<std::string> opened;
};

v1::Task Range(const std::string& file, uint64_t begin, uint64_t end, bool by_records = false) {
  v1::Task range;
  range.set_file(file);
  range.set_begin(begin);
  range.set_end(end);
  range.set_by_records(by_records);
  return range;
}

TEST(OpenAheadTest, OpensEachRangeOfBytesOnceInOrderFromTheByteBeforeIt) {
  const RecordedSource source;
  OpenAhead streams(source, {Range("a", 0, 10), Range("b.gz", 3, 9, /*by_records=*/true),
                             Range("b", 20, 30), Range("a", 10, 25)});
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(streams.Next().ok());
  EXPECT_THAT(source.opened, ElementsAre("a 0-10", "b 19-30", "a 9-25"));
}

TEST(OpenAheadTest, KeepsAFewOpenBeyondTheOneThatIsRead) {
  const RecordedSource source;
  OpenAhead streams(source, std::vector<v1::Task>(20, Range("a", 5, 10)));
  EXPECT_THAT(source.opened, IsEmpty());
  for (size_t read = 1; read <= 20; ++read) {
    EXPECT_TRUE(streams.Next().ok());
    EXPECT_THAT(source.opened, SizeIs(std::min<size_t>(20, read + OpenAhead::kMostAhead)));
  }
}

TEST(OpenAheadTest, TellsOfARangeThatCannotBeOpenedWhenItsTurnComes) {
  const RecordedSource source;
  OpenAhead streams(source, {Range("a", 0, 10), Range("gone", 0, 10), Range("b", 0, 10)});
  EXPECT_TRUE(streams.Next().ok());
  EXPECT_EQ(streams.Next().status(), absl::NotFoundError("gone: No such file"));
  EXPECT_TRUE(streams.Next().ok());
}

}  // namespace
}  // namespace capstan
