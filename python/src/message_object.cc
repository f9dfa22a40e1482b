#include "python/src/message_object.h"

#include <nanobind/stl/string.h>

#include <string>

#include "absl/strings/ascii.h"

namespace nb = nanobind;

namespace capstan::python {
namespace {

using google::protobuf::EnumValueDescriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

// JOB_STATE_RUNNING of JobState is "running".
std::string NameOf(const EnumValueDescriptor& value) {
  std::string prefix;
  for (const char c : value.type()->name()) {
    if (absl::ascii_isupper(static_cast<unsigned char>(c)) && !prefix.empty()) prefix += '_';
    prefix += absl::ascii_toupper(static_cast<unsigned char>(c));
  }
  prefix += '_';
  std::string name = value.name();
  if (name.compare(0, prefix.size(), prefix) == 0) name.erase(0, prefix.size());
  absl::AsciiStrToLower(&name);
  return name;
}

nb::object TextOf(const FieldDescriptor& field, const std::string& value) {
  if (field.type() == FieldDescriptor::TYPE_BYTES) return nb::bytes(value.data(), value.size());
  return nb::cast(value);
}

// The value of a field; of a repeated one that with this index.
nb::object ValueOf(const Message& message, const FieldDescriptor& field, int index = 0) {
  const Reflection& of = *message.GetReflection();
  const bool repeated = field.is_repeated();
  const auto get = [&](auto single, auto element) {
    return repeated ? (of.*element)(message, &field, index) : (of.*single)(message, &field);
  };
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      return nb::cast(get(&Reflection::GetInt32, &Reflection::GetRepeatedInt32));
    case FieldDescriptor::CPPTYPE_INT64:
      return nb::cast(get(&Reflection::GetInt64, &Reflection::GetRepeatedInt64));
    case FieldDescriptor::CPPTYPE_UINT32:
      return nb::cast(get(&Reflection::GetUInt32, &Reflection::GetRepeatedUInt32));
    case FieldDescriptor::CPPTYPE_UINT64:
      return nb::cast(get(&Reflection::GetUInt64, &Reflection::GetRepeatedUInt64));
    case FieldDescriptor::CPPTYPE_FLOAT:
      return nb::cast(get(&Reflection::GetFloat, &Reflection::GetRepeatedFloat));
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return nb::cast(get(&Reflection::GetDouble, &Reflection::GetRepeatedDouble));
    case FieldDescriptor::CPPTYPE_BOOL:
      return nb::cast(get(&Reflection::GetBool, &Reflection::GetRepeatedBool));
    case FieldDescriptor::CPPTYPE_ENUM:
      return nb::cast(NameOf(*get(&Reflection::GetEnum, &Reflection::GetRepeatedEnum)));
    case FieldDescriptor::CPPTYPE_STRING:
      return TextOf(field, get(&Reflection::GetString, &Reflection::GetRepeatedString));
    case FieldDescriptor::CPPTYPE_MESSAGE:
      return ObjectOf(repeated ? of.GetRepeatedMessage(message, &field, index)
                               : of.GetMessage(message, &field));
  }
  return nb::none();
}

nb::object MapOf(const Message& message, const FieldDescriptor& field) {
  const Reflection& of = *message.GetReflection();
  const FieldDescriptor& key = *field.message_type()->map_key();
  const FieldDescriptor& value = *field.message_type()->map_value();
  nb::dict entries;
  for (int i = 0; i < of.FieldSize(message, &field); ++i) {
    const Message& entry = of.GetRepeatedMessage(message, &field, i);
    entries[ValueOf(entry, key)] = ValueOf(entry, value);
  }
  return entries;
}

nb::object ListOf(const Message& message, const FieldDescriptor& field) {
  nb::list elements;
  for (int i = 0; i < message.GetReflection()->FieldSize(message, &field); ++i) {
    elements.append(ValueOf(message, field, i));
  }
  return elements;
}

}  // namespace

nb::object ObjectOf(const Message& message) {
  nb::dict fields;
  for (int i = 0; i < message.GetDescriptor()->field_count(); ++i) {
    const FieldDescriptor& field = *message.GetDescriptor()->field(i);
    fields[field.name().c_str()] = field.is_map()        ? MapOf(message, field)
                                   : field.is_repeated() ? ListOf(message, field)
                                                         : ValueOf(message, field);
  }
  return nb::module_::import_("types").attr("SimpleNamespace")(**fields);
}

}  // namespace capstan::python
