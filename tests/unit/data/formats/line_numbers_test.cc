#include "capstan/data/formats/line_numbers.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/lib/test_folder.h"
#include "tests/unit/data/files.h"

namespace capstan {
namespace {

// A file of which only zeros are there, and no memory.
class Zeros : public Source {
 public:
  absl::StatusOr<std::vector<FileInfo>> List(const std::string&) const override {
    return std::vector<FileInfo>();
  }
  absl::StatusOr<FileInfo> Find(const std::string& path) const override { return FileInfo{path}; }
  absl::StatusOr<std::unique_ptr<ByteStream>> Open(const std::string&, uint64_t,
                                                   uint64_t) const override {
    return std::make_unique<Stream>();
  }

 private:
  class Stream : public ByteStream {
   public:
    absl::StatusOr<size_t> Read(std::span<char> buffer) override {
      std::fill(buffer.begin(), buffer.end(), '0');
      return buffer.size();
    }
  };
};

TEST(LineNumbersTest, AreThoseOfTheWholeFileInWhateverOrderTheyAreAskedFor) {
  const TestFolder folder;
  std::string text;
  for (int i = 0; i < 1'500'000; ++i) text += "1234567\n";  // Three marks.
  const std::string path = folder.Write("a.csv", text);
  const std::unique_ptr<const Source> files = NewLocalFiles();
  LineNumbers numbers(*files);
  for (uint64_t line : {1, 1'500'000, 2, 600'000, 1'048'577, 524'289, 524'288}) {
    EXPECT_EQ(*numbers.At(path, 8 * (line - 1)), line);
  }
}

TEST(LineNumbersTest, AreNotToldWhereTooMuchHadToBeReadForThem) {
  const Zeros zeros;
  LineNumbers numbers(zeros);
  EXPECT_EQ(*numbers.At("a", LineNumbers::kMostCounted + 1), std::nullopt);
  EXPECT_EQ(*numbers.At("a", uint64_t{8} << 20), 1u);
  EXPECT_EQ(*numbers.At("a", LineNumbers::kMostCounted + 1), 1u);  // From the mark there.
}

TEST(LineNumbersTest, SayWhichFileCannotBeRead) {
  const std::unique_ptr<const Source> files = NewLocalFiles();
  LineNumbers numbers(*files);
  EXPECT_EQ(numbers.At("/nonexistent", 5).status().code(), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace capstan
