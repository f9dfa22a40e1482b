#include "capstan/data/formats/listed_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "capstan/base/crc32c.h"
#include "tests/lib/test_folder.h"
#include "tests/unit/data/files.h"

namespace capstan {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class ListedFileTest : public testing::Test {
 protected:
  // Reads the whole file; what it says of each line is in `lines_`.
  absl::StatusOr<uint32_t> Read(const std::string& file) {
    lines_.clear();
    return ReadListedFile(*source_, file, [this](const ListedLine& line, std::string& error) {
      if (line.text == "bad") {
        error = "is bad";
        return false;
      }
      lines_.push_back(absl::StrCat(line.number, ":", std::string(line.text),
                                    line.carriage_return ? "\\r" : ""));
      return true;
    });
  }

  const TestFolder folder_;
  const std::unique_ptr<const Source> source_ = NewLocalFiles();
  std::vector<std::string> lines_;
};

TEST_F(ListedFileTest, EachLineComesWithItsNumberAndTheSumIsThatOfTheText) {
  const std::string text = "one\ntwo\r\n\nlast";
  const auto sum = Read(folder_.Write("list", text));
  ASSERT_TRUE(sum.ok()) << sum.status();
  EXPECT_EQ(*sum, Crc32c(text));
  EXPECT_THAT(lines_, ElementsAre("1:one", "2:two\\r", "3:", "4:last"));
}

TEST_F(ListedFileTest, ALineThatIsRefusedIsNamedAndNoneIsReadBehindIt) {
  const auto sum = Read(folder_.Write("list", "one\nbad\ntwo\n"));
  EXPECT_TRUE(absl::IsInvalidArgument(sum.status()));
  EXPECT_THAT(std::string(sum.status().message()), HasSubstr("list:2: is bad"));
  EXPECT_THAT(lines_, ElementsAre("1:one"));
}

TEST_F(ListedFileTest, AFileThatIsNotThereIsNamed) {
  EXPECT_THAT(std::string(Read(folder_.path() + "/none").status().message()), HasSubstr("none"));
}

TEST_F(ListedFileTest, AFileWithAnotherSumThanTheJobBeganWithIsRefusedWithBoth) {
  EXPECT_TRUE(CheckUnchanged("cities.txt", "the cities", 0xabc, 0xabc).ok());
  const absl::Status changed = CheckUnchanged("cities.txt", "the cities", 0xabc, 0xdef);
  EXPECT_TRUE(absl::IsFailedPrecondition(changed));
  EXPECT_THAT(std::string(changed.message()),
              testing::AllOf(HasSubstr("cities.txt: the cities have changed"),
                             HasSubstr("00000abc"), HasSubstr("00000def")));
}

}  // namespace
}  // namespace capstan
