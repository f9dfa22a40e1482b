#include "capstan/inference/inference.h"

#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "capstan/base/quote.h"
#include "capstan/base/status.h"

namespace capstan {
namespace {

using Json = nlohmann::json;

constexpr size_t kMostValues = size_t{1} << 30;
constexpr int kMostDepth = 16;  // So deep may lists in `data` be nested.

absl::Status Bad(const std::string& what) { return absl::InvalidArgumentError(what); }

// A text that stands at a key, or "".
std::string TextAt(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

// Adds the values of a list, whose lists within lists are its rows.
absl::Status AppendCells(const Json& value, int depth, std::vector<std::string>& cells) {
  if (value.is_array()) {
    if (depth == kMostDepth) return Bad("data: too many lists within lists");
    for (const Json& element : value) {
      CAPSTAN_RETURN_IF_ERROR(AppendCells(element, depth + 1, cells));
    }
    return absl::OkStatus();
  }
  if (value.is_object()) return Bad("data: expected numbers, texts, true, false or null");
  if (value.is_string()) {
    cells.push_back(value.get<std::string>());
  } else if (value.is_null()) {
    cells.emplace_back();
  } else {
    cells.push_back(value.dump());  // A number as it would stand in a file.
  }
  return absl::OkStatus();
}

absl::StatusOr<InferInput> ParseInput(const Json& from) {
  if (!from.is_object()) return Bad("an input is no object");
  InferInput input = {.name = TextAt(from, "name")};
  if (input.name.empty()) return Bad("an input has no name");
  const std::string in = absl::StrCat("input ", Quoted(input.name), ": ");
  const auto shape = from.find("shape");
  size_t expected = 1;
  if (shape == from.end() || !shape->is_array() || shape->empty()) {
    return Bad(absl::StrCat(in, "has no shape, such as [2]"));
  }
  for (const Json& extent : *shape) {
    if (!extent.is_number_unsigned() || extent.get<uint64_t>() > kMostValues) {
      return Bad(absl::StrCat(in, "shape: expected whole numbers from 0 on"));
    }
    expected *= extent.get<size_t>();
    if (expected > kMostValues) return Bad(absl::StrCat(in, "shape: more values than can be sent"));
  }
  input.rows = shape->front().get<size_t>();
  const auto data = from.find("data");
  if (data == from.end() || !data->is_array()) return Bad(absl::StrCat(in, "has no list data"));
  if (const absl::Status cells = AppendCells(*data, 0, input.cells); !cells.ok()) {
    return Bad(absl::StrCat(in, cells.message()));
  }
  if (input.cells.size() == expected) return input;
  return Bad(
      absl::StrCat(in, "data has ", input.cells.size(), " values, and the shape says ", expected));
}

std::string OutputText(const InferOutput& output, size_t rows) {
  const std::string shape =
      output.columns == 1 ? absl::StrCat(rows) : absl::StrCat(rows, ",", output.columns);
  return absl::StrCat("{\"name\":", Quoted(output.name), ",\"datatype\":\"FP32\",\"shape\":[",
                      shape, "],\"data\":[",
                      absl::StrJoin(output.values, ",",
                                    [](std::string* out, float value) {
                                      // JSON has no other numbers.
                                      if (std::isfinite(value))
                                        absl::StrAppendFormat(out, "%.9g", value);
                                      else
                                        out->append("null");
                                    }),
                      "]}");
}

}  // namespace

absl::StatusOr<InferRequest> ParseInferRequest(std::string_view json) {
  const Json parsed = Json::parse(json, /*cb=*/nullptr, /*allow_exceptions=*/false);
  if (!parsed.is_object()) return Bad("the request is no JSON object");
  InferRequest request = {.id = TextAt(parsed, "id")};
  const auto inputs = parsed.find("inputs");
  if (inputs == parsed.end() || !inputs->is_array() || inputs->empty()) {
    return Bad("the request has no inputs");
  }
  for (const Json& input : *inputs) {
    CAPSTAN_ASSIGN_OR_RETURN(request.inputs.emplace_back(), ParseInput(input));
  }
  const auto outputs = parsed.find("outputs");
  if (outputs == parsed.end()) return request;
  if (!outputs->is_array()) return Bad("outputs: expected a list");
  for (const Json& output : *outputs) {
    request.outputs.push_back(output.is_object() ? TextAt(output, "name") : "");
  }
  return request;
}

std::string InferResponse(const std::string& model, const std::string& version,
                          const std::string& id, size_t rows,
                          const std::vector<InferOutput>& outputs) {
  return absl::StrCat("{\"model_name\":", Quoted(model), ",\"model_version\":", Quoted(version),
                      id.empty() ? "" : absl::StrCat(",\"id\":", Quoted(id)), ",\"outputs\":[",
                      absl::StrJoin(outputs, ",",
                                    [rows](std::string* out, const InferOutput& output) {
                                      absl::StrAppend(out, OutputText(output, rows));
                                    }),
                      "]}");
}

std::string ErrorResponse(std::string_view error) {
  return absl::StrCat("{\"error\":", Quoted(error), "}");
}

}  // namespace capstan
