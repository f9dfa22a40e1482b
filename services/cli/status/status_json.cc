#include "cli/status/status_json.h"

#include <cmath>
#include <concepts>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "capstan/base/check.h"
#include "capstan/base/quote.h"
#include "capstan/message/visit_field.h"

namespace capstan::cli {
namespace {

using google::protobuf::EnumValueDescriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

// JSON has finite numbers only; protobuf writes others as texts.
std::string Number(double value) {
  if (std::isnan(value)) return "\"NaN\"";
  if (std::isinf(value)) return value > 0 ? "\"Infinity\"" : "\"-Infinity\"";
  const std::string rounded = absl::StrFormat("%.15g", value);
  return std::stod(rounded) == value ? rounded : absl::StrFormat("%.17g", value);
}

// Returns the JSON of a value, by the value's type.
struct JsonOfValue {
  std::string operator()(bool value) const { return value ? "true" : "false"; }
  std::string operator()(double value) const { return Number(value); }
  std::string operator()(float value) const { return Number(value); }
  std::string operator()(const EnumValueDescriptor* value) const { return Quoted(value->name()); }
  std::string operator()(const std::string& value) const { return Quoted(value); }
  std::string operator()(const Message& value) const { return ToJson(value); }
  std::string operator()(std::integral auto value) const { return absl::StrCat(value); }
};

// Returns the JSON of a field, or of the value at `index` of a repeated field.
std::string JsonOf(const Message& message, const FieldDescriptor& field, int index = 0) {
  CAPSTAN_CHECK(field.type() != FieldDescriptor::TYPE_BYTES);  // JSON has no bytes.
  return VisitField(message, field, index, JsonOfValue());
}

// Writes a map, whose entries are messages of a key and a value. Keys in JSON are texts.
std::string Entry(const Message& entry) {
  const auto& descriptor = *entry.GetDescriptor();
  const std::string key = JsonOf(entry, *descriptor.map_key());
  const std::string value = JsonOf(entry, *descriptor.map_value());
  return absl::StrCat(key[0] == '"' ? key : Quoted(key), ":", value);
}

std::string Repeated(const Message& message, const FieldDescriptor& field) {
  const Reflection& of = *message.GetReflection();
  std::vector<std::string> values;
  for (int i = 0; i < of.FieldSize(message, &field); ++i) {
    values.push_back(field.is_map() ? Entry(of.GetRepeatedMessage(message, &field, i))
                                    : JsonOf(message, field, i));
  }
  const std::string list = absl::StrJoin(values, ",");
  return field.is_map() ? absl::StrCat("{", list, "}") : absl::StrCat("[", list, "]");
}

}  // namespace

std::string ToJson(const Message& message) {
  const auto& descriptor = *message.GetDescriptor();
  std::vector<std::string> members;
  for (int i = 0; i < descriptor.field_count(); ++i) {
    const FieldDescriptor& field = *descriptor.field(i);
    const bool absent = !field.is_repeated() && field.has_presence() &&
                        !message.GetReflection()->HasField(message, &field);
    if (absent) continue;
    members.push_back(
        absl::StrCat(Quoted(field.name()), ":",
                     field.is_repeated() ? Repeated(message, field) : JsonOf(message, field)));
  }
  return absl::StrCat("{", absl::StrJoin(members, ","), "}");
}

}  // namespace capstan::cli
