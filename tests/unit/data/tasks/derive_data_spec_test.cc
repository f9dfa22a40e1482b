#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/lib/test_folder.h"
#include "tests/unit/data/files.h"

namespace capstan {
namespace {

std::string Refusal(const v1::DataSpec& data) {
  return std::string(Derived(data).status().message());
}

TEST(DeriveDataSpecTest, CountsColumnsFieldsAndNumbers) {
  TestFolder folder;
  v1::DataSpec data = CsvSpec(folder.Write("a.csv", "1,2,3,\"a,b\",5\n"), {1, 2}, {3});
  data.mutable_numeric(1)->set_transform(v1::NUMERIC_TRANSFORM_BUCKET);
  const v1::DataSpec derived = Derived(data)->data;
  EXPECT_EQ(derived.columns(), 5u);
  EXPECT_EQ(derived.fields(), 2u);
  EXPECT_EQ(derived.dense_width(), 1u);
  EXPECT_EQ(derived.numeric_scale(), 1.0f);
}

TEST(DeriveDataSpecTest, RefusesASchemaThatTheFileDoesNotFit) {
  TestFolder folder;
  const std::string path = folder.Write("a.csv", "1,2,3\n");
  EXPECT_EQ(Refusal(CsvSpec(path, {}, {1, 3})),
            path +
                ": has 3 columns, but the schema's categorical names column 3 (they are counted "
                "from 0)");
  EXPECT_EQ(Refusal(CsvSpec(path, {1}, {1, 2})),
            "schema: column 1 is both numeric and categorical");
  EXPECT_EQ(Refusal(CsvSpec(path, {0}, {})), "schema: column 0 is both label and numeric");
  EXPECT_EQ(Refusal(CsvSpec(folder.Write("b.csv", ""), {1}, {})),
            folder.Path("b.csv") + ": is empty");
  EXPECT_EQ(Refusal({}), "data: no format");
}

TEST(DeriveDataSpecTest, PassesOverEmptyFilesInFrontOfTheFirstLine) {
  TestFolder folder;
  folder.Write("part-0.csv", "");
  folder.Write("part-1.csv", "");
  folder.Write("part-2.csv", "0,5,red\n");
  const v1::DataSpec data = CsvSpec(folder.Path("part-*"), {1}, {2});
  EXPECT_EQ(Derived(data)->data.columns(), 3u);
  folder.Write("part-2.csv", "");
  EXPECT_EQ(Refusal(data),
            folder.Path("part-0.csv") + ": is empty, as is each file that is named with it");
}

// A file with a line of names; the label and one column are found by them.
v1::DataSpec ByName(const std::string& path, const std::string& label, const std::string& column) {
  v1::DataSpec data = CsvSpec(path, {}, {});
  data.set_header(true);
  data.set_label_name(label);
  data.add_categorical()->set_name(column);
  return data;
}

TEST(DeriveDataSpecTest, TellsThatLinesEndWithCarriageReturnsAlone) {
  TestFolder folder;
  const std::string path = folder.Write("a.csv", "income,age\r1,20\r0,30\r");
  EXPECT_EQ(Refusal(ByName(path, "income", "age")),
            path +
                ": its lines end with CR alone; expected LF or CR LF, as tr '\\r' '\\n' makes "
                "them");
  folder.Write("a.csv", "income,a\rge\n1,20\n");
  EXPECT_THAT(Refusal(ByName(path, "income", "age")), testing::HasSubstr("no column is named"));
}

TEST(DeriveDataSpecTest, KnowsTheColumnsOfTheSyntheticSet) {
  v1::DataSpec data;
  data.set_format(v1::DATA_FORMAT_SYNTHETIC);
  EXPECT_EQ(Derived(data)->data.fields(), 39u);
  data.mutable_synthetic()->add_vocabulary(5);
  EXPECT_EQ(Derived(data)->data.fields(), 1u);
}

TEST(DeriveDataSpecTest, FindsColumnsByTheirNames) {
  TestFolder folder;
  const std::string path = folder.Write("a.csv", "age, workclass,income\n1,2,3\n");
  const v1::DataSpec derived = Derived(ByName(path, "income", "workclass"))->data;
  EXPECT_EQ(derived.label_column(), 2u);
  EXPECT_EQ(derived.categorical(0).column(), 1u);
}

TEST(DeriveDataSpecTest, AnswersANameThatIsNotThereWithTheNearestAndAll) {
  TestFolder folder;
  const std::string path = folder.Write("a.csv", "age,workclass,income,age\n1,2,3,4\n");
  EXPECT_EQ(Refusal(ByName(path, "incom", "workclass")),
            path +
                ":1: no column is named \"incom\", as data.schema.label says; did you mean "
                "income? there are \"age\", \"workclass\", \"income\", \"age\"");
  EXPECT_EQ(Refusal(ByName(path, "income", "age")),
            path + ":1: two columns are named \"age\"; count the one that is meant");
  v1::DataSpec twice = ByName(path, "income", "workclass");
  twice.add_categorical()->set_column(1);
  EXPECT_EQ(Refusal(twice), "schema: column 1 is both categorical and categorical");
}

}  // namespace
}  // namespace capstan
