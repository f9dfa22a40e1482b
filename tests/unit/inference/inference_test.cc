#include "capstan/inference/inference.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"

namespace capstan {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(ParseInferRequestTest, TakesValuesAsAFileOfTextWouldHaveThem) {
  const auto request = ParseInferRequest(R"({
    "id": "7", "parameters": {"x": 1},
    "inputs": [
      {"name": "shop", "datatype": "BYTES", "shape": [4], "data": ["a", "b,c", "", null]},
      {"name": "price", "datatype": "FP64", "shape": [2, 2], "data": [[1.5, -2], [1e3, null]]},
      {"name": "user", "datatype": "UINT64", "shape": [1], "data": [18446744073709551615]}],
    "outputs": [{"name": "buy"}]})");
  ASSERT_TRUE(request.ok()) << request.status();
  EXPECT_EQ(request->id, "7");
  ASSERT_EQ(request->inputs.size(), 3u);
  EXPECT_EQ(request->inputs[0].name, "shop");
  EXPECT_EQ(request->inputs[0].rows, 4u);
  EXPECT_THAT(request->inputs[0].cells, ElementsAre("a", "b,c", "", ""));
  EXPECT_EQ(request->inputs[1].rows, 2u);
  EXPECT_THAT(request->inputs[1].cells, ElementsAre("1.5", "-2", "1000", ""));
  EXPECT_THAT(request->inputs[2].cells, ElementsAre("18446744073709551615"));
  EXPECT_THAT(request->outputs, ElementsAre("buy"));
}

std::string Refusal(const std::string& json) {
  const auto request = ParseInferRequest(json);
  EXPECT_EQ(request.status().code(), absl::StatusCode::kInvalidArgument) << json;
  return std::string(request.status().message());
}

std::string WithInput(const std::string& input) {
  return absl::StrCat("{\"inputs\": [{\"name\": \"x\", ", input, "}]}");
}

TEST(ParseInferRequestTest, NamesTheInputThatIsNone) {
  EXPECT_EQ(Refusal("{"), "the request is no JSON object");
  EXPECT_EQ(Refusal("[]"), "the request is no JSON object");
  EXPECT_EQ(Refusal("{\"inputs\": []}"), "the request has no inputs");
  EXPECT_EQ(Refusal("{\"inputs\": [1]}"), "an input is no object");
  EXPECT_EQ(Refusal("{\"inputs\": [{\"shape\": [1]}]}"), "an input has no name");
  EXPECT_EQ(Refusal(WithInput("\"data\": [1]")), "input \"x\": has no shape, such as [2]");
  for (const char* extent : {"-1", "1.5", "\"1\"", "4294967296"}) {
    EXPECT_EQ(Refusal(WithInput(absl::StrCat("\"shape\": [", extent, "], \"data\": [1]"))),
              "input \"x\": shape: expected whole numbers from 0 on");
  }
  EXPECT_THAT(Refusal(WithInput("\"shape\": [1000000000, 1000000000], \"data\": [1]")),
              HasSubstr("more values than can be sent"));
  EXPECT_EQ(Refusal(WithInput("\"shape\": [1]")), "input \"x\": has no list data");
  EXPECT_EQ(Refusal(WithInput("\"shape\": [3], \"data\": [1, 2]")),
            "input \"x\": data has 2 values, and the shape says 3");
  EXPECT_EQ(
      Refusal(WithInput("\"shape\": [1], \"data\": [{}]")),
      "input \"x\": record 0: an object is no BYTES; expected a number, a text, true, false or "
      "null");
  std::string extents = "1";
  for (int i = 0; i < 16; ++i) extents += ",1";
  EXPECT_EQ(Refusal(WithInput(absl::StrCat("\"shape\": [", extents, "], \"data\": [1]"))),
            "input \"x\": shape: expected 16 numbers at most");
}

std::string WithData(const std::string& shape, const std::string& data) {
  return WithInput(
      absl::StrCat("\"datatype\": \"BYTES\", \"shape\": ", shape, ", \"data\": ", data));
}

TEST(ParseInferRequestTest, AListForEachRowKeepsItsOwnLength) {
  const auto request = ParseInferRequest(WithData("[4]", "[[7], [], [8, \"9\"], null]"));
  ASSERT_TRUE(request.ok()) << request.status();
  const InferInput& input = request->inputs[0];
  EXPECT_EQ(input.rows, 4u);
  EXPECT_TRUE(input.in_lists);
  EXPECT_THAT(input.cells, ElementsAre("7", "8", "9"));
  EXPECT_THAT(input.ends, ElementsAre(1, 1, 3, 3));
  EXPECT_EQ(input.Begin(0), 0u);
  EXPECT_EQ(input.Begin(2), 1u);
  EXPECT_EQ(input.Begin(4), 3u);
  EXPECT_EQ(Refusal(WithData("[3]", "[[1], [2]]")),
            "input \"x\": data: a list of 2, and the shape [3] says 3");
  EXPECT_EQ(Refusal(WithData("[2]", "[[1], 2]")),
            "input \"x\": record 1: expected a list, as other records have");
  EXPECT_EQ(Refusal(WithData("[2]", "[[1], [[2]]]")),
            "input \"x\": record 1: a list where the shape [2] has values");
}

TEST(ParseInferRequestTest, ListsWithinListsAreTheTensorOfTheShapeThatIsSaid) {
  const auto request = ParseInferRequest(WithData("[2, 3]", "[[1, 2, 3], [4, 5, 6]]"));
  ASSERT_TRUE(request.ok()) << request.status();
  EXPECT_THAT(request->inputs[0].ends, IsEmpty());
  EXPECT_EQ(request->inputs[0].Begin(1), 3u);
  EXPECT_EQ(request->inputs[0].Begin(2), 6u);
  EXPECT_EQ(Refusal(WithData("[3, 1]", "[[1], [], [2, 3]]")),
            "input \"x\": record 1: a list of 0, and the shape [3,1] says 1");
  EXPECT_EQ(Refusal(WithData("[2, 1]", "[[1], 2]")),
            "input \"x\": record 1: expected lists within lists, as the shape [2,1] says");
  EXPECT_EQ(Refusal(WithData("[2, 1]", "[[1], [[2]]]")),
            "input \"x\": record 1: a list where the shape [2,1] has values");
}

// A file would have 1, and 1.0 is another text, with another key.
TEST(ParseInferRequestTest, AFloatingPointNumberThatIsWholeAndExactIsTheWholeNumber) {
  const auto request = ParseInferRequest(
      WithData("[6]", "[1.0, -2.0, -0.0, 9007199254740991.0, 9007199254740992.0, 1.5]"));
  ASSERT_TRUE(request.ok()) << request.status();
  const InferInput& input = request->inputs[0];
  EXPECT_EQ(std::vector<std::string>(input.cells.begin(), input.cells.begin() + 4),
            std::vector<std::string>({"1", "-2", "0", "9007199254740991"}));
  EXPECT_EQ(input.cells[5], "1.5");
  EXPECT_EQ(input.fraction, 4u);
  const auto whole = ParseInferRequest(WithData("[2]", "[\"1.0\", 36028797018964535]"));
  ASSERT_TRUE(whole.ok()) << whole.status();
  EXPECT_THAT(whole->inputs[0].cells, ElementsAre("1.0", "36028797018964535"));
  EXPECT_FALSE(whole->inputs[0].fraction.has_value());
}

bool Takes(const std::string& datatype, const std::string& value) {
  return ParseInferRequest(
             WithInput(absl::StrCat("\"datatype\": \"", datatype,
                                    "\", \"shape\": [2], \"data\": [null, ", value, "]")))
      .ok();
}

TEST(ParseInferRequestTest, RefusesDatatypesThatAreNoneAndValuesThatTheyLack) {
  EXPECT_THAT(Refusal(WithInput("\"datatype\": \"FOO\", \"shape\": [1], \"data\": [1]")),
              HasSubstr("input \"x\": there is no datatype \"FOO\"; expected one of BYTES, BOOL"));
  EXPECT_THAT(Refusal(WithInput("\"datatype\": 7, \"shape\": [1], \"data\": [1]")),
              HasSubstr("there is no datatype 7"));
  EXPECT_EQ(
      Refusal(
          WithInput("\"datatype\": \"INT8\", \"shape\": [2], \"data\": [1, 36028797018964535]")),
      "input \"x\": record 1: 36028797018964535 is no INT8; expected a whole number from -128 "
      "to 127, or null");
  for (const char* value : {"-128", "127", "127.0"}) EXPECT_TRUE(Takes("INT8", value)) << value;
  for (const char* value : {"-129", "128", "1.5", "\"1\"", "true"}) {
    EXPECT_FALSE(Takes("INT8", value)) << value;
  }
  EXPECT_TRUE(Takes("UINT64", "18446744073709551615"));
  EXPECT_FALSE(Takes("UINT64", "-1"));
  EXPECT_FALSE(Takes("INT64", "9223372036854775808"));
  EXPECT_TRUE(Takes("INT64", "-9223372036854775808"));
  for (const char* value : {"1", "-1.5", "3.4028235e+38"}) EXPECT_TRUE(Takes("FP32", value));
  for (const char* value : {"3.5e38", "\"1\"", "false"}) EXPECT_FALSE(Takes("FP32", value));
  EXPECT_TRUE(Takes("FP64", "3.5e38"));
  EXPECT_FALSE(Takes("FP16", "70000"));
  EXPECT_TRUE(Takes("BOOL", "true"));
  EXPECT_FALSE(Takes("BOOL", "1"));
  for (const char* value : {"1", "1.5", "\"a\"", "true"}) EXPECT_TRUE(Takes("BYTES", value));
}

// The stack is not what a request can fill.
TEST(ParseInferRequestTest, TakesNoHarmFromAMillionBrackets) {
  (void)Refusal(std::string(1'000'000, '['));
  (void)Refusal(WithInput(absl::StrCat("\"shape\": [1], \"data\": ", std::string(1'000'000, '['),
                                       std::string(1'000'000, ']'))));
}

TEST(InferResponseTest, HasShapesAndNoNumberThatIsNone) {
  EXPECT_EQ(
      InferResponse("ctr", "0-1", "a\"b", 2,
                    {{.name = "score", .values = {0.5f, std::numeric_limits<float>::quiet_NaN()}},
                     {.name = "probabilities", .columns = 2, .values = {0.25f, 0.75f, 1, 0}}}),
      R"({"model_name":"ctr","model_version":"0-1","id":"a\"b","outputs":[)"
      R"({"name":"score","datatype":"FP32","shape":[2],"data":[0.5,null]},)"
      R"({"name":"probabilities","datatype":"FP32","shape":[2,2],"data":[0.25,0.75,1,0]}]})");
  EXPECT_THAT(InferResponse("ctr", "0-1", "", 0, {}), HasSubstr("\"outputs\":[]"));
  EXPECT_EQ(ErrorResponse("no \"x\""), R"({"error":"no \"x\""})");
}

}  // namespace
}  // namespace capstan
