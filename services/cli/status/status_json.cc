#include "cli/status/status_json.h"

#include <cmath>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "capstan/base/check.h"
#include "capstan/base/quote.h"

namespace capstan::cli {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

// JSON knows no others; protobuf writes them as texts.
std::string Number(double value) {
  if (std::isnan(value)) return "\"NaN\"";
  if (std::isinf(value)) return value > 0 ? "\"Infinity\"" : "\"-Infinity\"";
  const std::string rounded = absl::StrFormat("%.15g", value);
  return std::stod(rounded) == value ? rounded : absl::StrFormat("%.17g", value);
}

// The value of a field; of a repeated one that with this index.
class FieldValue {
 public:
  FieldValue(const Message& message, const FieldDescriptor& field, int index)
      : message_(message), of_(*message.GetReflection()), field_(field), index_(index) {}

  std::string Json() const {
    switch (field_.cpp_type()) {
      case FieldDescriptor::CPPTYPE_INT32:
        return absl::StrCat(Get(&Reflection::GetInt32, &Reflection::GetRepeatedInt32));
      case FieldDescriptor::CPPTYPE_INT64:
        return absl::StrCat(Get(&Reflection::GetInt64, &Reflection::GetRepeatedInt64));
      case FieldDescriptor::CPPTYPE_UINT32:
        return absl::StrCat(Get(&Reflection::GetUInt32, &Reflection::GetRepeatedUInt32));
      case FieldDescriptor::CPPTYPE_UINT64:
        return absl::StrCat(Get(&Reflection::GetUInt64, &Reflection::GetRepeatedUInt64));
      case FieldDescriptor::CPPTYPE_DOUBLE:
        return Number(Get(&Reflection::GetDouble, &Reflection::GetRepeatedDouble));
      case FieldDescriptor::CPPTYPE_FLOAT:
        return Number(Get(&Reflection::GetFloat, &Reflection::GetRepeatedFloat));
      case FieldDescriptor::CPPTYPE_BOOL:
        return Get(&Reflection::GetBool, &Reflection::GetRepeatedBool) ? "true" : "false";
      case FieldDescriptor::CPPTYPE_ENUM:
        return Quoted(Get(&Reflection::GetEnum, &Reflection::GetRepeatedEnum)->name());
      case FieldDescriptor::CPPTYPE_STRING:
        CAPSTAN_CHECK(field_.type() == FieldDescriptor::TYPE_STRING);
        return Quoted(Get(&Reflection::GetString, &Reflection::GetRepeatedString));
      case FieldDescriptor::CPPTYPE_MESSAGE:
        return ToJson(field_.is_repeated() ? of_.GetRepeatedMessage(message_, &field_, index_)
                                           : of_.GetMessage(message_, &field_));
    }
    return "null";
  }

 private:
  template <typename T>
  T Get(T (Reflection::*single)(const Message&, const FieldDescriptor*) const,
        T (Reflection::*repeated)(const Message&, const FieldDescriptor*, int) const) const {
    return field_.is_repeated() ? (of_.*repeated)(message_, &field_, index_)
                                : (of_.*single)(message_, &field_);
  }

  const Message& message_;
  const Reflection& of_;
  const FieldDescriptor& field_;
  const int index_;
};

// A map's entries are messages of a key and a value; JSON's keys are texts.
std::string Entry(const Message& entry) {
  const auto& descriptor = *entry.GetDescriptor();
  const std::string key = FieldValue(entry, *descriptor.map_key(), 0).Json();
  const std::string value = FieldValue(entry, *descriptor.map_value(), 0).Json();
  return absl::StrCat(key[0] == '"' ? key : Quoted(key), ":", value);
}

std::string Repeated(const Message& message, const FieldDescriptor& field) {
  const Reflection& of = *message.GetReflection();
  std::vector<std::string> values;
  for (int i = 0; i < of.FieldSize(message, &field); ++i) {
    values.push_back(field.is_map() ? Entry(of.GetRepeatedMessage(message, &field, i))
                                    : FieldValue(message, field, i).Json());
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
    members.push_back(absl::StrCat(
        Quoted(field.name()), ":",
        field.is_repeated() ? Repeated(message, field) : FieldValue(message, field, 0).Json()));
  }
  return absl::StrCat("{", absl::StrJoin(members, ","), "}");
}

}  // namespace capstan::cli
