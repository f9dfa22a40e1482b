#include "cli/model/safetensors.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "capstan/base/status.h"
#include "google/protobuf/struct.pb.h"
#include "google/protobuf/util/json_util.h"

namespace capstan::cli {
namespace {

using google::protobuf::Struct;
using google::protobuf::Value;

constexpr std::string_view kMetadata = "__metadata__";
constexpr size_t kLengthBytes = sizeof(uint64_t);
constexpr uint64_t kMaxHeader = 100 << 20;
constexpr double kMostExact = 0x1p53;  // Up to here a double holds every whole number.

uint64_t WidthOf(const std::string& dtype) {
  if (dtype == "F32") return 4;
  return dtype == "U64" ? 8 : 0;
}

std::string Quoted(std::string_view text) {
  Value value;
  value.set_string_value(std::string(text));
  std::string json;
  (void)google::protobuf::util::MessageToJsonString(value, &json);
  return json;
}

absl::Status Malformed(const std::string& what) {
  return absl::DataLossError(absl::StrCat("safetensors: ", what));
}

// Returns the numbers of a list; nothing: it is none, or holds something else than sizes.
std::optional<std::vector<uint64_t>> NumbersIn(const Value& list) {
  if (list.kind_case() != Value::kListValue) return std::nullopt;
  std::vector<uint64_t> numbers;
  for (const Value& number : list.list_value().values()) {
    const double size = number.kind_case() == Value::kNumberValue ? number.number_value() : -1;
    if (!(size >= 0 && size <= kMostExact) || size != std::floor(size)) return std::nullopt;
    numbers.push_back(static_cast<uint64_t>(size));
  }
  return numbers;
}

// Returns whether an array of this shape takes so many bytes.
bool Takes(const std::vector<uint64_t>& shape, uint64_t width, uint64_t bytes) {
  if (std::find(shape.begin(), shape.end(), 0u) != shape.end()) return bytes == 0;
  uint64_t needed = width;
  for (const uint64_t size : shape) {
    if (size > bytes / needed) return false;
    needed *= size;
  }
  return needed == bytes;
}

absl::StatusOr<SafeTensor> TensorFrom(const std::string& name, const Value& value,
                                      uint64_t data_bytes) {
  const auto& fields = value.struct_value().fields();
  SafeTensor tensor{.name = name};
  if (!fields.contains("dtype") || !fields.contains("shape") || !fields.contains("data_offsets")) {
    return Malformed(absl::StrCat(name, " lacks dtype, shape or data_offsets"));
  }
  tensor.dtype = fields.at("dtype").string_value();
  std::optional<std::vector<uint64_t>> shape = NumbersIn(fields.at("shape"));
  const std::optional<std::vector<uint64_t>> offsets = NumbersIn(fields.at("data_offsets"));
  if (!shape || !offsets || offsets->size() != 2) {
    return Malformed(absl::StrCat(name, ": its shape or its data_offsets are no sizes"));
  }
  tensor.shape = *std::move(shape);
  tensor.begin = offsets->front();
  tensor.end = offsets->back();
  if (tensor.begin > tensor.end || tensor.end > data_bytes) {
    return Malformed(absl::StrCat(name, " does not lie within the file"));
  }
  const uint64_t width = WidthOf(tensor.dtype);
  if (width == 0) return Malformed(absl::StrCat(name, " is of type ", tensor.dtype));
  if (!Takes(tensor.shape, width, tensor.end - tensor.begin)) {
    return Malformed(absl::StrCat(name, ": its shape and its bytes do not agree"));
  }
  return tensor;
}

}  // namespace

uint64_t SafeTensor::elements() const {
  uint64_t count = 1;
  for (uint64_t size : shape) count *= size;
  return count;
}

void PlaceTensors(std::vector<SafeTensor>& tensors) {
  uint64_t at = 0;
  for (SafeTensor& tensor : tensors) {
    tensor.begin = at;
    at += tensor.elements() * WidthOf(tensor.dtype);
    tensor.end = at;
  }
}

std::string SafetensorsHeader(const std::vector<SafeTensor>& tensors,
                              const std::map<std::string, std::string>& metadata) {
  std::vector<std::string> entries;
  std::vector<std::string> pairs;
  for (const auto& [key, value] : metadata) {
    pairs.push_back(absl::StrCat(Quoted(key), ":", Quoted(value)));
  }
  entries.push_back(absl::StrCat(Quoted(kMetadata), ":{", absl::StrJoin(pairs, ","), "}"));
  for (const SafeTensor& tensor : tensors) {
    entries.push_back(absl::StrCat(Quoted(tensor.name), ":{\"dtype\":", Quoted(tensor.dtype),
                                   ",\"shape\":[", absl::StrJoin(tensor.shape, ","),
                                   "],\"data_offsets\":[", tensor.begin, ",", tensor.end, "]}"));
  }
  std::string json = absl::StrCat("{", absl::StrJoin(entries, ","), "}");
  json.append((8 - json.size() % 8) % 8, ' ');
  const uint64_t length = json.size();
  std::string header(reinterpret_cast<const char*>(&length), kLengthBytes);
  return header + json;
}

absl::StatusOr<SafetensorsIndex> ReadSafetensorsIndex(std::string_view file) {
  uint64_t length = 0;
  if (file.size() < kLengthBytes) return Malformed("the file is too short");
  std::memcpy(&length, file.data(), kLengthBytes);
  if (length > file.size() - kLengthBytes) return Malformed("the header is longer than the file");
  if (length > kMaxHeader) {
    return Malformed(
        absl::StrCat("the header has ", length, " bytes; expected at most ", kMaxHeader));
  }
  Struct header;
  const std::string json(file.substr(kLengthBytes, length));
  if (!google::protobuf::util::JsonStringToMessage(json, &header).ok()) {
    return Malformed("the header is not JSON");
  }
  SafetensorsIndex index;
  index.data_begin = kLengthBytes + length;
  for (const auto& [name, value] : header.fields()) {
    if (name == kMetadata) continue;
    CAPSTAN_ASSIGN_OR_RETURN(index.tensors[name],
                             TensorFrom(name, value, file.size() - index.data_begin));
  }
  return index;
}

}  // namespace capstan::cli
