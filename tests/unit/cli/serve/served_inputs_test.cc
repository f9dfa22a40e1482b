#include "cli/serve/served_inputs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/lib/source_folder.h"
#include "tests/lib/test_folder.h"

namespace capstan::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// A label, a shop, a price, a column that nobody reads.
v1::JobSpec Shops(v1::DataFormat format) {
  v1::JobSpec job;
  v1::DataSpec& data = *job.mutable_data();
  data.set_format(format);
  data.set_columns(4);
  data.set_numeric_scale(1);
  data.set_fields(1);
  data.set_dense_width(1);
  v1::ColumnSpec& shop = *data.add_categorical();
  shop.set_column(1);
  shop.set_name("shop");
  data.add_numeric()->set_column(2);
  job.mutable_model()->set_loss(v1::LOSS_LOGISTIC);
  job.mutable_model()->set_outputs(1);
  return job;
}

InferInput Input(const std::string& name, std::vector<std::string> cells) {
  return {.name = name, .rows = cells.size(), .cells = std::move(cells)};
}

std::string Refusal(const ServedInputs& inputs, std::vector<InferInput> of) {
  const auto batch = inputs.Read({.inputs = std::move(of)});
  EXPECT_EQ(batch.status().code(), absl::StatusCode::kInvalidArgument);
  return std::string(batch.status().message());
}

TEST(ServedInputsTest, FeaturesAreAskedByTheirColumnsToo) {
  v1::JobSpec job = Shops(v1::DATA_FORMAT_CSV);
  job.mutable_data()->clear_categorical();
  for (const char* name : {"who", "seen"}) {
    v1::FeatureSpec& feature = *job.mutable_data()->add_features();
    feature.set_name(name);
    feature.set_kind(v1::KEY_KIND_ID);
  }
  job.mutable_data()->mutable_features(0)->set_column(1);
  job.mutable_data()->mutable_features(0)->set_column_name("user");
  job.mutable_data()->mutable_features(1)->set_column(3);
  job.mutable_data()->mutable_features(1)->set_many(true);
  job.mutable_data()->mutable_features(1)->set_most(10);
  const ServedInputs inputs(job);
  const auto batch = inputs.Read(
      {.inputs = {Input("user", {"7", "8"}), Input("2", {"5", "6"}), Input("3", {"1|2", ""})}});
  ASSERT_TRUE(batch.ok()) << batch.status();
  ASSERT_EQ(batch->features.size(), 2u);
  EXPECT_THAT(batch->features[0].keys, ElementsAre(7, 8));
  EXPECT_THAT(batch->features[1].keys, ElementsAre(1, 2));
  EXPECT_THAT(batch->features[1].offsets, ElementsAre(0, 2, 2));
  EXPECT_THAT(Refusal(inputs, {Input("user", {"7"}), Input("2", {"5"})}),
              HasSubstr("input \"3\" is missing"));
}

TEST(ServedInputsTest, TheWeightsOfABagAreAnInputOfTheirOwn) {
  v1::JobSpec job = Shops(v1::DATA_FORMAT_CSV);
  job.mutable_data()->clear_categorical();
  v1::FeatureSpec& feature = *job.mutable_data()->add_features();
  feature.set_name("seen");
  feature.set_kind(v1::KEY_KIND_ID);
  feature.set_column(1);
  feature.set_many(true);
  feature.set_most(10);
  feature.mutable_weights()->set_column(3);
  feature.mutable_weights()->set_name("times");
  const ServedInputs inputs(job);
  const auto batch =
      inputs.Read({.inputs = {Input("1", {"7|8", "9"}), Input("times", {"0.5|2", "3"}),
                              Input("2", {"5", "6"})}});
  ASSERT_TRUE(batch.ok()) << batch.status();
  EXPECT_THAT(batch->features[0].weights, ElementsAre(0.5F, 2, 3));
  EXPECT_THAT(Refusal(inputs, {Input("1", {"7|8"}), Input("times", {"1"}), Input("2", {"5"})}),
              HasSubstr("record 0: column 3 (times): 1 weight for 2 values of seen"));
}

// A label, a bag, a price, the weights of the bag.
v1::JobSpec Histories(v1::DataFormat format) {
  v1::JobSpec job = Shops(format);
  job.mutable_data()->clear_categorical();
  v1::FeatureSpec& feature = *job.mutable_data()->add_features();
  feature.set_name("seen");
  feature.set_kind(v1::KEY_KIND_ID);
  feature.set_column(1);
  feature.set_column_name("hist");
  feature.set_many(true);
  feature.set_most(10);
  feature.mutable_weights()->set_column(3);
  feature.mutable_weights()->set_name("times");
  return job;
}

// Returns a request as it comes, with a price for each of so many records.
InferRequest Asked(size_t records, const std::string& inputs) {
  std::string prices;
  for (size_t i = 0; i < records; ++i) prices += i == 0 ? "5" : ",5";
  const auto request =
      ParseInferRequest("{\"inputs\": [{\"name\": \"2\", \"shape\": [" + std::to_string(records) +
                        "], \"data\": [" + prices + "]}, " + inputs + "]}");
  EXPECT_TRUE(request.ok()) << request.status();
  return request.value_or(InferRequest());
}

TEST(ServedInputsTest, EachRecordHasTheListThatStandsAtItsPlace) {
  for (const auto format : {v1::DATA_FORMAT_CSV, v1::DATA_FORMAT_TSV, v1::DATA_FORMAT_PARQUET}) {
    const ServedInputs inputs(Histories(format));
    // As many values as records, whose lists have other lengths.
    const auto batch =
        inputs.Read(Asked(3, R"({"name": "hist", "shape": [3], "data": [[7], [], [8, 9.0]]},
                    {"name": "times", "shape": [3], "data": [[0.5], null, [1, 2.5]]})"));
    ASSERT_TRUE(batch.ok()) << batch.status();
    EXPECT_THAT(batch->features[0].keys, ElementsAre(7, 8, 9));
    EXPECT_THAT(batch->features[0].offsets, ElementsAre(0, 1, 1, 3));
    EXPECT_THAT(batch->features[0].weights, ElementsAre(0.5F, 1, 2.5F));
  }
}

TEST(ServedInputsTest, TheExampleOfListsInTheDocumentsIsAnswered) {
  std::ifstream file(SourceFolder() + "/docs/serve.md");
  std::string page((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const size_t section = page.find("### Lists");
  ASSERT_NE(section, page.npos);
  const std::string fence = "```json\n";
  const size_t begin = page.find(fence, section) + fence.size();
  const auto request = ParseInferRequest(page.substr(begin, page.find("```", begin) - begin));
  ASSERT_TRUE(request.ok()) << request.status();
  v1::JobSpec job = Histories(v1::DATA_FORMAT_CSV);
  job.mutable_data()->mutable_numeric(0)->set_name("price");
  const ServedInputs inputs(job);
  const auto batch = inputs.Read(*request);
  ASSERT_TRUE(batch.ok()) << batch.status();
  const auto texts =
      inputs.Read({.inputs = {Input("price", {"5", "", "7.5"}), Input("hist", {"7", "", "8|9"}),
                              Input("times", {"0.5", "", "1|2.5"})}});
  ASSERT_TRUE(texts.ok()) << texts.status();
  EXPECT_TRUE(*batch == *texts);
  EXPECT_THAT(batch->features[0].offsets, ElementsAre(0, 1, 1, 3));
}

TEST(ServedInputsTest, ATensorHasAsManyValuesForEachRecordAsItsShapeSays) {
  const ServedInputs inputs(Histories(v1::DATA_FORMAT_CSV));
  const auto batch =
      inputs.Read(Asked(2, R"({"name": "hist", "shape": [2, 2], "data": [[7, 8], [9, 10]]},
                  {"name": "times", "shape": [2, 2], "data": [1, 2, 3, 4]})"));
  ASSERT_TRUE(batch.ok()) << batch.status();
  EXPECT_THAT(batch->features[0].keys, ElementsAre(7, 8, 9, 10));
  EXPECT_THAT(batch->features[0].offsets, ElementsAre(0, 2, 4));
  EXPECT_THAT(batch->features[0].weights, ElementsAre(1, 2, 3, 4));
}

TEST(ServedInputsTest, ValuesOfListsAreNotEmptyAndHoldNoSeparator) {
  const ServedInputs inputs(Histories(v1::DATA_FORMAT_CSV));
  for (const char* value : {"\"7|8\"", "\"\"", "null"}) {
    const auto batch = inputs.Read(
        Asked(2, absl::StrCat(R"({"name": "hist", "shape": [2], "data": [[7], [)", value, R"(]]},
                                 {"name": "times", "shape": [2], "data": [[1], [1]]})")));
    EXPECT_THAT(std::string(batch.status().message()),
                HasSubstr("in a list; expected values that are not empty and lack \"|\""));
    EXPECT_THAT(std::string(batch.status().message()), HasSubstr("input \"hist\": record 1: "));
  }
}

TEST(ServedInputsTest, AColumnOfOneValueTakesListsOnlyAsTheTensorOfItsShape) {
  const ServedInputs inputs(Shops(v1::DATA_FORMAT_CSV));
  const auto batch =
      inputs.Read(Asked(2, R"({"name": "shop", "shape": [2, 1], "data": [["a"], ["b"]]})"));
  ASSERT_TRUE(batch.ok()) << batch.status();
  EXPECT_EQ(batch->examples(), 2u);
  const auto refusal = [&inputs](const std::string& shop) {
    return std::string(inputs.Read(Asked(2, shop)).status().message());
  };
  const std::string expected =
      "; expected one value a record: [1, 2] of the shape [2], or [[1], [2]] of the shape [2,1]";
  EXPECT_EQ(refusal(R"({"name": "shop", "shape": [2], "data": [["a"], ["b"]]})"),
            "input \"shop\": record 0: a list of 1 value" + expected);
  EXPECT_EQ(refusal(R"({"name": "shop", "shape": [2, 2], "data": ["a", "b", "c", "d"]})"),
            "input \"shop\": record 0: 2 values" + expected);
  InferInput lines = {.name = "records", .rows = 2, .cells = {"1,a,5,x", "1,b,5,x"}};
  lines.in_lists = true;
  EXPECT_TRUE(inputs.Read({.inputs = {lines}}).ok());
  lines.ends = {0, 2};
  EXPECT_THAT(Refusal(inputs, {lines}), HasSubstr("input \"records\": record 0: a list of 0"));
}

TEST(ServedInputsTest, AWholeFloatingPointNumberHasTheKeyOfTheWholeNumberAndNoOtherHasOne) {
  const ServedInputs inputs(Shops(v1::DATA_FORMAT_CSV));
  const auto batch = inputs.Read(Asked(
      4, R"({"name": "shop", "datatype": "BYTES", "shape": [4], "data": [1, 1.0, "1", "1.0"]})"));
  ASSERT_TRUE(batch.ok()) << batch.status();
  EXPECT_EQ(batch->keys[0], batch->keys[1]);
  EXPECT_EQ(batch->keys[0], batch->keys[2]);
  EXPECT_NE(batch->keys[0], batch->keys[3]);
  for (const char* value : {"1.5", "9007199254740992.0"}) {
    const auto refused = inputs.Read(
        Asked(2, absl::StrCat(R"({"name": "shop", "shape": [2], "data": ["a", )", value, "]}")));
    EXPECT_THAT(std::string(refused.status().message()),
                HasSubstr("is a floating-point number in a column of keys; expected a text"));
    EXPECT_THAT(std::string(refused.status().message()), HasSubstr("input \"shop\": record 1: "));
  }
}

TEST(ServedInputsTest, AColumnComesOnceAndLinesComeAlone) {
  const ServedInputs inputs(Shops(v1::DATA_FORMAT_CSV));
  EXPECT_EQ(
      Refusal(inputs, {Input("shop", {"a"}), Input("2", {"5"}), Input("2", {"1000"})}),
      "input \"2\" has the values of column 2, which input \"2\" has, too; expected one input "
      "for each column");
  EXPECT_EQ(Refusal(inputs, {Input("shop", {"a"}), Input("records", {"1,a,5,x"})}),
            "input \"records\" is not the only input; expected either records alone, or each of 2, "
            "shop");
}

TEST(ServedInputsTest, TextsOfAVocabularyHaveTheKeysOfTraining) {
  const TestFolder folder;
  v1::JobSpec job = Shops(v1::DATA_FORMAT_CSV);
  job.mutable_data()->clear_categorical();
  v1::FeatureSpec& feature = *job.mutable_data()->add_features();
  feature.set_name("user");
  feature.set_column(1);
  feature.set_column_name("user");
  feature.set_kind(v1::KEY_KIND_VOCABULARY);
  feature.mutable_vocabulary()->set_file(folder.Write("users.txt", "ada\nbob\n"));
  feature.mutable_vocabulary()->set_unknown(1);
  const auto files = NewLocalFiles();
  ASSERT_TRUE(DeriveVocabularies(*files, *job.mutable_data()).ok());
  const ServedInputs inputs(job, *ReadKnownVocabularies(*files, job.data()));
  const auto batch =
      inputs.Read({.inputs = {Input("user", {"bob", "eve", "ada"}), Input("2", {"5", "6", "7"})}});
  ASSERT_TRUE(batch.ok()) << batch.status();
  EXPECT_THAT(batch->features[0].keys, ElementsAre(1, 2, 0));
}

TEST(ServedInputsTest, ColumnsAreTheRecordsThatLinesWouldBe) {
  for (const auto format : {v1::DATA_FORMAT_CSV, v1::DATA_FORMAT_TSV, v1::DATA_FORMAT_PARQUET}) {
    const ServedInputs inputs(Shops(format));
    const bool tabs = format == v1::DATA_FORMAT_TSV;
    const auto of_columns =
        inputs.Read({.inputs = {Input("2", {"5", ""}), Input("shop", {"a", "b \"x\""})}});
    ASSERT_TRUE(of_columns.ok()) << of_columns.status();
    const auto of_lines = inputs.Read(
        {.inputs = {
             Input("records", tabs ? std::vector<std::string>{"1\ta\t5\t", "b \"x\"\t\t"}
                                   : std::vector<std::string>{"1,a,5,", "\"b \"\"x\"\"\",,"})}});
    ASSERT_TRUE(of_lines.ok()) << of_lines.status();
    EXPECT_TRUE(*of_columns == *of_lines);
    EXPECT_THAT(of_columns->dense, ElementsAre(5, 0));
    EXPECT_EQ(of_columns->keys.size(), 2u);
  }
}

TEST(ServedInputsTest, AValueMayHoldWhatSeparatesValues) {
  const ServedInputs csv(Shops(v1::DATA_FORMAT_CSV));
  const auto batch = csv.Read({.inputs = {Input("2", {"5"}), Input("shop", {"a,\"b\"\nc"})}});
  ASSERT_TRUE(batch.ok()) << batch.status();
  EXPECT_EQ(batch->examples(), 1u);
  EXPECT_THAT(Refusal(ServedInputs(Shops(v1::DATA_FORMAT_TSV)),
                      {Input("2", {"5"}), Input("shop", {"a\tb"})}),
              HasSubstr("input \"shop\": row 0: a tab"));
}

TEST(ServedInputsTest, SaysWhatIsMissingAndWhatWasExpected) {
  const ServedInputs inputs(Shops(v1::DATA_FORMAT_CSV));
  EXPECT_EQ(Refusal(inputs, {Input("shop", {"a"})}),
            "input \"2\" is missing; expected either records alone, or each of 2, shop");
  EXPECT_EQ(Refusal(inputs, {Input("shops", {"a"})}),
            "there is no input \"shops\"; expected either records alone, or each of 2, shop");
  EXPECT_THAT(Refusal(inputs, {Input("shop", {"a", "b"}), Input("2", {"5"})}),
              HasSubstr("input \"2\": 1 rows, and the first input has 2"));
  EXPECT_EQ(Refusal(inputs, {Input("shop", {"a"}), Input("2", {"much"})}),
            "record 0: column 2: \"much\" is not a number");
  EXPECT_THAT(Refusal(inputs, {Input("records", {"1,a,5,x", "1,a"})}),
              HasSubstr("record 1: 2 columns, expected 4"));
  EXPECT_EQ(Refusal(inputs, {Input("records", {" "})}), "record 0: is empty");
}

TEST(ServedInputsTest, RefusesMoreRecordsThanAModelComputesAtOnce) {
  EXPECT_THAT(Refusal(ServedInputs(Shops(v1::DATA_FORMAT_CSV)),
                      {Input("records", std::vector<std::string>(65537, "1,a,5,"))}),
              HasSubstr("65537 records in one request; at most 65536"));
  const InferInput in_one_row = {
      .name = "records", .rows = 1, .cells = std::vector<std::string>(65537, "1,a,5,")};
  EXPECT_THAT(Refusal(ServedInputs(Shops(v1::DATA_FORMAT_CSV)), {in_one_row}),
              HasSubstr("65537 records in one request"));
}

TEST(ServedInputsTest, ImagesAreTheirPixels) {
  v1::JobSpec job;
  job.mutable_data()->set_format(v1::DATA_FORMAT_IDX);
  job.mutable_data()->set_dense_width(2);
  job.mutable_data()->set_numeric_scale(0.5f);
  job.mutable_model()->set_loss(v1::LOSS_SOFTMAX);
  job.mutable_model()->set_outputs(3);
  const ServedInputs inputs(job);
  const auto batch =
      inputs.Read({.inputs = {{.name = "pixels", .rows = 2, .cells = {"0", "255", "128", "4"}}}});
  ASSERT_TRUE(batch.ok()) << batch.status();
  EXPECT_EQ(batch->examples(), 2u);
  EXPECT_THAT(batch->dense, ElementsAre(0, 127.5f, 64, 2));
  EXPECT_THAT(Refusal(inputs, {Input("pixels", {"0", "1"})}), HasSubstr("an image has 2"));
  EXPECT_THAT(Refusal(inputs, {Input("records", {"0"})}), HasSubstr("expected one input, pixels"));
  InferInput ragged = {.name = "pixels", .rows = 2, .cells = {"0", "1", "2", "3"}};
  ragged.in_lists = true;
  ragged.ends = {1, 4};
  EXPECT_THAT(Refusal(inputs, {ragged}), HasSubstr("input \"pixels\": record 0: a list of 1"));
}

}  // namespace
}  // namespace capstan::cli
