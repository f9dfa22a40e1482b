#include "capstan/inference/inference.h"

#include <algorithm>
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
constexpr size_t kMostExtents = 16;  // The limit of a shape's rank, and of the nesting of lists.
constexpr double kWholeBelow = 1LL << 53;  // All whole numbers below it are exact as doubles.

absl::Status Bad(const std::string& what) { return absl::InvalidArgumentError(what); }

// Returns the text value of a key, or "".
std::string TextAt(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

// Returns a value as an error shows it.
std::string Shown(const Json& value) {
  if (value.is_structured()) return value.is_array() ? "a list" : "an object";
  return value.is_string() ? Quoted(value.get_ref<const std::string&>()) : value.dump();
}

enum class Kind { kAny, kFlag, kWhole, kNumber };

struct Datatype {
  const char* name;
  Kind kind;
  int64_t least = 0;  // kWhole: from here to `most`.
  uint64_t most = 0;
  double below = 0;  // From here on a number would be rounded to infinity.
};

constexpr Datatype kDatatypes[] = {
    {"BYTES", Kind::kAny},
    {"BOOL", Kind::kFlag},
    {"INT8", Kind::kWhole, INT8_MIN, INT8_MAX},
    {"INT16", Kind::kWhole, INT16_MIN, INT16_MAX},
    {"INT32", Kind::kWhole, INT32_MIN, INT32_MAX},
    {"INT64", Kind::kWhole, INT64_MIN, INT64_MAX},
    {"UINT8", Kind::kWhole, 0, UINT8_MAX},
    {"UINT16", Kind::kWhole, 0, UINT16_MAX},
    {"UINT32", Kind::kWhole, 0, UINT32_MAX},
    {"UINT64", Kind::kWhole, 0, UINT64_MAX},
    {"FP16", Kind::kNumber, 0, 0, 65520},
    {"BF16", Kind::kNumber, 0, 0, 0x1.ffp127},
    {"FP32", Kind::kNumber, 0, 0, 0x1.ffffffp127},
    {"FP64", Kind::kNumber, 0, 0, HUGE_VAL},
};

// Returns the datatype of an input; BYTES if it has none.
absl::StatusOr<Datatype> DatatypeOf(const Json& input) {
  const auto found = input.find("datatype");
  if (found == input.end()) return kDatatypes[0];
  for (const Datatype& datatype : kDatatypes) {
    if (*found == datatype.name) return datatype;
  }
  return Bad(
      absl::StrCat("there is no datatype ", Shown(*found), "; expected one of ",
                   absl::StrJoin(kDatatypes, ", ", [](std::string* out, const Datatype& datatype) {
                     out->append(datatype.name);
                   })));
}

std::string Expected(const Datatype& datatype) {
  switch (datatype.kind) {
    case Kind::kAny:
      return "a number, a text, true, false or null";
    case Kind::kFlag:
      return "true, false or null";
    case Kind::kWhole:
      return absl::StrCat("a whole number from ", datatype.least, " to ", datatype.most,
                          ", or null");
    case Kind::kNumber:
      return "a number in its range, or null";
  }
  return "";
}

// REQUIRES: `number` is whole and below 2^53 if it is not a floating-point number.
bool Has(const Datatype& datatype, const Json& value) {
  if (value.is_structured()) return false;
  if (value.is_null() || datatype.kind == Kind::kAny) return true;
  if (datatype.kind == Kind::kFlag) return value.is_boolean();
  if (datatype.kind == Kind::kNumber) {
    return value.is_number() && std::fabs(value.get<double>()) < datatype.below;
  }
  if (value.is_number_unsigned()) return value.get<uint64_t>() <= datatype.most;
  return value.is_number_integer() && value.get<int64_t>() >= datatype.least;
}

// Reads the `data` of one input. Confined to one call.
class DataReader {
 public:
  DataReader(const Datatype& datatype, const std::vector<size_t>& shape, InferInput& input)
      : datatype_(datatype), shape_(shape), input_(input) {}

  absl::Status Read(const Json& data) {
    const auto is_list = [](const Json& value) { return value.is_array(); };
    input_.in_lists = std::any_of(data.begin(), data.end(), is_list);
    if (!input_.in_lists) return ReadFlat(data);
    return shape_.size() == 1 ? ReadLists(data) : ReadTensor(data, 0);
  }

 private:
  absl::Status ReadFlat(const Json& data) {
    size_t expected = 1;
    for (const size_t extent : shape_) expected *= extent;
    if (data.size() != expected) {
      return Bad(absl::StrCat("data has ", data.size(), " values, and the shape says ", expected));
    }
    for (const Json& value : data) {
      row_ = input_.cells.size() / (expected / shape_[0]);
      CAPSTAN_RETURN_IF_ERROR(Append(value));
    }
    return absl::OkStatus();
  }

  // Reads one list per row; null is an empty one.
  absl::Status ReadLists(const Json& data) {
    if (data.size() != shape_[0]) return WrongSize(data, 0);
    for (const Json& list : data) {
      if (!list.is_array() && !list.is_null())
        return InRow("expected a list, as other records have");
      for (const Json& value : list) CAPSTAN_RETURN_IF_ERROR(Append(value));
      input_.ends.push_back(input_.cells.size());
      ++row_;
    }
    return absl::OkStatus();
  }

  // Reads the lists of one level of a tensor, and those within them. `level` is less than the
  // shape's size.
  absl::Status ReadTensor(const Json& list, size_t level) {
    if (list.size() != shape_[level]) return WrongSize(list, level);
    for (const Json& element : list) {
      if (level + 1 == shape_.size()) {
        CAPSTAN_RETURN_IF_ERROR(Append(element));
      } else if (element.is_array()) {
        CAPSTAN_RETURN_IF_ERROR(ReadTensor(element, level + 1));
      } else {
        return InRow(
            absl::StrCat("expected lists within lists, as the shape ", ShapeText(), " says"));
      }
      if (level == 0) ++row_;
    }
    return absl::OkStatus();
  }

  absl::Status Append(const Json& value) {
    if (value.is_number_float()) {
      const double number = value.get<double>();
      if (std::trunc(number) == number && std::fabs(number) < kWholeBelow) {
        return Append(number < 0 ? Json(static_cast<int64_t>(number))
                                 : Json(static_cast<uint64_t>(number)));
      }
      if (!input_.fraction) input_.fraction = input_.cells.size();
    }
    if (value.is_array()) {
      return InRow(absl::StrCat("a list where the shape ", ShapeText(), " has values"));
    }
    if (!Has(datatype_, value)) {
      return InRow(absl::StrCat(Shown(value), " is no ", datatype_.name, "; expected ",
                                Expected(datatype_)));
    }
    if (value.is_null()) {
      input_.cells.emplace_back();
    } else {
      // Returns a number as it would be written in a file.
      input_.cells.push_back(value.is_string() ? value.get<std::string>() : value.dump());
    }
    return absl::OkStatus();
  }

  absl::Status WrongSize(const Json& list, size_t level) const {
    const std::string what = absl::StrCat("a list of ", list.size(), ", and the shape ",
                                          ShapeText(), " says ", shape_[level]);
    return level == 0 ? Bad(absl::StrCat("data: ", what)) : InRow(what);
  }
  absl::Status InRow(const std::string& what) const {
    return Bad(absl::StrCat("record ", row_, ": ", what));
  }
  std::string ShapeText() const { return absl::StrCat("[", absl::StrJoin(shape_, ","), "]"); }

  const Datatype datatype_;
  const std::vector<size_t>& shape_;
  InferInput& input_;
  size_t row_ = 0;  // The row that is being read.
};

absl::StatusOr<std::vector<size_t>> ShapeOf(const Json& input) {
  const auto found = input.find("shape");
  if (found == input.end() || !found->is_array() || found->empty()) {
    return Bad("has no shape, such as [2]");
  }
  if (found->size() > kMostExtents) {
    return Bad(absl::StrCat("shape: expected ", kMostExtents, " numbers at most"));
  }
  std::vector<size_t> shape;
  size_t values = 1;
  for (const Json& extent : *found) {
    if (!extent.is_number_unsigned() || extent.get<uint64_t>() > kMostValues) {
      return Bad("shape: expected whole numbers from 0 on");
    }
    shape.push_back(extent.get<size_t>());
    values *= shape.back();
    if (values > kMostValues) return Bad("shape: more values than can be sent");
  }
  return shape;
}

absl::Status ReadInput(const Json& from, InferInput& input) {
  CAPSTAN_ASSIGN_OR_RETURN(const Datatype datatype, DatatypeOf(from));
  CAPSTAN_ASSIGN_OR_RETURN(const std::vector<size_t> shape, ShapeOf(from));
  input.rows = shape[0];
  const auto data = from.find("data");
  if (data == from.end() || !data->is_array()) return Bad("has no list data");
  return DataReader(datatype, shape, input).Read(*data);
}

absl::StatusOr<InferInput> ParseInput(const Json& from) {
  if (!from.is_object()) return Bad("an input is no object");
  InferInput input = {.name = TextAt(from, "name")};
  if (input.name.empty()) return Bad("an input has no name");
  const absl::Status read = ReadInput(from, input);
  if (read.ok()) return input;
  return Bad(absl::StrCat("input ", Quoted(input.name), ": ", read.message()));
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

size_t InferInput::Begin(size_t row) const {
  if (row == 0) return 0;
  return ends.empty() ? row * (cells.size() / rows) : ends[row - 1];
}

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
