#include "python/src/message_object.h"

#include <nanobind/stl/string.h>

#include <string>

#include "absl/strings/ascii.h"
#include "capstan/message/visit_field.h"

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

// The Python object of a value of this field.
struct ObjectOfValue {
  const FieldDescriptor& field;

  nb::object operator()(const EnumValueDescriptor* value) const { return nb::cast(NameOf(*value)); }
  nb::object operator()(const std::string& value) const {
    if (field.type() == FieldDescriptor::TYPE_STRING) return nb::cast(value);
    return nb::bytes(value.data(), value.size());
  }
  nb::object operator()(const Message& value) const { return ObjectOf(value); }
  nb::object operator()(auto number_or_bool) const { return nb::cast(number_or_bool); }
};

// The value of a field; of a repeated one that with this index.
nb::object ValueOf(const Message& message, const FieldDescriptor& field, int index = 0) {
  return VisitField(message, field, index, ObjectOfValue{field});
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
