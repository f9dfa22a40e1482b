#include "capstan/inference/inference.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>

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
      {"name": "price", "datatype": "FP64", "shape": [2, 2], "data": [[1.5, -2], [1e3, true]]},
      {"name": "user", "datatype": "UINT64", "shape": [1], "data": [18446744073709551615]}],
    "outputs": [{"name": "buy"}]})");
  ASSERT_TRUE(request.ok()) << request.status();
  EXPECT_EQ(request->id, "7");
  ASSERT_EQ(request->inputs.size(), 3u);
  EXPECT_EQ(request->inputs[0].name, "shop");
  EXPECT_EQ(request->inputs[0].rows, 4u);
  EXPECT_THAT(request->inputs[0].cells, ElementsAre("a", "b,c", "", ""));
  EXPECT_EQ(request->inputs[1].rows, 2u);
  EXPECT_THAT(request->inputs[1].cells, ElementsAre("1.5", "-2", "1000.0", "true"));
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
  EXPECT_THAT(Refusal(WithInput("\"shape\": [1], \"data\": [{}]")), HasSubstr("expected numbers"));
  EXPECT_THAT(Refusal(WithInput(absl::StrCat("\"shape\": [1], \"data\": ", std::string(20, '['),
                                             "1", std::string(20, ']')))),
              HasSubstr("too many lists within lists"));
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
