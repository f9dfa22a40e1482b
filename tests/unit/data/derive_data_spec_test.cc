#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

TEST(DeriveDataSpecTest, KnowsTheColumnsOfTheSyntheticSet) {
  v1::DataSpec data;
  data.set_format(v1::DATA_FORMAT_SYNTHETIC);
  EXPECT_EQ(Derived(data)->data.fields(), 39u);
  data.mutable_synthetic()->add_vocabulary(5);
  EXPECT_EQ(Derived(data)->data.fields(), 1u);
}

}  // namespace
}  // namespace capstan
