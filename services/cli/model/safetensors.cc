#include "cli/model/safetensors.h"

#include <cstring>

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

std::vector<uint64_t> NumbersIn(const Value& list) {
  std::vector<uint64_t> numbers;
  for (const Value& number : list.list_value().values()) {
    numbers.push_back(number.number_value() < 0 ? 0 : static_cast<uint64_t>(number.number_value()));
  }
  return numbers;
}

absl::StatusOr<SafeTensor> TensorFrom(const std::string& name, const Value& value,
                                      uint64_t data_bytes) {
  const auto& fields = value.struct_value().fields();
  SafeTensor tensor{.name = name};
  if (!fields.contains("dtype") || !fields.contains("shape") || !fields.contains("data_offsets")) {
    return Malformed(absl::StrCat(name, " lacks dtype, shape or data_offsets"));
  }
  tensor.dtype = fields.at("dtype").string_value();
  tensor.shape = NumbersIn(fields.at("shape"));
  const std::vector<uint64_t> offsets = NumbersIn(fields.at("data_offsets"));
  if (offsets.size() != 2 || offsets[0] > offsets[1] || offsets[1] > data_bytes) {
    return Malformed(absl::StrCat(name, " does not lie within the file"));
  }
  tensor.begin = offsets[0];
  tensor.end = offsets[1];
  const uint64_t width = WidthOf(tensor.dtype);
  if (width == 0) return Malformed(absl::StrCat(name, " is of type ", tensor.dtype));
  if (tensor.elements() != (tensor.end - tensor.begin) / width) {
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
  if (length > kMaxHeader || length > file.size() - kLengthBytes) {
    return Malformed("the header is longer than the file");
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
