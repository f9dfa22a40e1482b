#include "capstan/data/formats/measures_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "capstan/base/crc32c.h"
#include "capstan/config/columns.h"
#include "tests/lib/test_folder.h"
#include "tests/unit/data/files.h"

namespace capstan {
namespace {

using testing::HasSubstr;

class MeasuresFileTest : public testing::Test {
 protected:
  // Columns "price" and 7, which are standardized by the file, and one that is not.
  v1::DataSpec Data(const std::string& file) {
    v1::DataSpec data;
    data.add_numeric()->set_name("price");
    data.add_numeric()->set_column(7);
    data.add_numeric()->set_name("other");
    for (int i = 0; i < 2; ++i) {
      data.mutable_numeric(i)->set_transform(v1::NUMERIC_TRANSFORM_STANDARD);
      data.mutable_numeric(i)->set_file(file);
    }
    return data;
  }

  std::string ErrorOf(const std::string& text) {
    v1::DataSpec data = Data(folder_.Write("numbers.tsv", text));
    const absl::Status status = DeriveMeasures(*files_, data);
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    return std::string(status.message());
  }

  TestFolder folder_;
  const std::unique_ptr<const Source> files_ = NewLocalFiles();
};

TEST_F(MeasuresFileTest, EachColumnHasWhatItsLineSaysAndTheJobKnowsTheFile) {
  const std::string text = "unused\t1\t1\n7\t-1e9 \t 0.125\nprice\t123456789.25\t3";
  for (const std::string& path :
       {folder_.Write("numbers.tsv", text), folder_.Write("numbers.tsv.gz", Gzip(text))}) {
    v1::DataSpec data = Data(path);
    ASSERT_EQ(DeriveMeasures(*files_, data), absl::OkStatus());
    EXPECT_EQ(data.numeric(0).mean(), 123456789.25);
    EXPECT_EQ(data.numeric(0).deviation(), 3);
    EXPECT_EQ(data.numeric(0).file_crc32c(), Crc32c(text));
    EXPECT_EQ(data.numeric(1).mean(), -1e9);
    EXPECT_EQ(data.numeric(1).deviation(), 0.125);
    EXPECT_EQ(data.numeric(2).deviation(), 0);
    EXPECT_EQ(data.numeric(2).file_crc32c(), 0u);
  }
}

TEST_F(MeasuresFileTest, ALineThatSaysSomethingElseIsNamed) {
  const std::string good = "price\t1\t2\n";
  for (const auto& [line, expected] : {
           std::pair("7,1,2", "expected a column, its mean and its deviation, with tabs"),
           std::pair("7\t1", "expected a column, its mean and its deviation, with tabs"),
           std::pair("\t1\t2", "expected a column, its mean and its deviation, with tabs"),
           std::pair("", "expected a column, its mean and its deviation, with tabs"),
           std::pair("column\tmean\tdeviation", "the mean \"mean\" is no number"),
           std::pair("7\tnan\t2", "the mean \"nan\" is no number"),
           std::pair("7\t1\t0", "the deviation \"0\" is no number above 0"),
           std::pair("7\t1\t-2", "the deviation \"-2\" is no number above 0"),
           std::pair("7\t1\t2\t3", "the deviation \"2\\t3\" is no number above 0"),
           std::pair("price\t1\t2",
                     "is of column \"price\", as line 1 is; expected each column once"),
       }) {
    EXPECT_THAT(ErrorOf(good + line + "\n"), HasSubstr("numbers.tsv:2: ")) << line;
    EXPECT_THAT(ErrorOf(good + line + "\n"), HasSubstr(expected)) << line;
  }
}

TEST_F(MeasuresFileTest, AColumnThatTheFileLacksIsNamed) {
  EXPECT_THAT(ErrorOf("price\t1\t2\n70\t1\t2\n"),
              HasSubstr("numbers.tsv: has no line of column \"7\""));
  EXPECT_THAT(ErrorOf(""), HasSubstr("numbers.tsv: has no line of column \"price\""));
}

TEST_F(MeasuresFileTest, ThereAreSoManyLinesAtMost) {
  std::string text;
  for (uint32_t i = 0; i <= kMaxColumns; ++i) absl::StrAppend(&text, "c", i, "\t1\t2\n");
  EXPECT_THAT(ErrorOf(text),
              HasSubstr(absl::StrCat(":", kMaxColumns + 1, ": is one line too many")));
}

}  // namespace
}  // namespace capstan
