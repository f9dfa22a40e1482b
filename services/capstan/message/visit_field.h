// Visits the values of a message's fields by their types, for code that treats all messages alike,
// such as that which writes them as JSON or as Python objects.
#ifndef CAPSTAN_MESSAGE_VISIT_FIELD_H_
#define CAPSTAN_MESSAGE_VISIT_FIELD_H_

#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"

namespace capstan {

// Calls `visit` with the value of a field of the message, and returns the result: the value is a
// number, a bool, a `const EnumValueDescriptor*`, a `std::string` (also for bytes), or a `const
// Message&`. A repeated field has one value for each `index`; for others it is ignored. REQUIRES:
// `visit` accepts each of these, and returns the same type for all.
template <typename Visit>
auto VisitField(const google::protobuf::Message& message,
                const google::protobuf::FieldDescriptor& field, int index, const Visit& visit) {
  using google::protobuf::FieldDescriptor;
  using google::protobuf::Reflection;
  const Reflection& of = *message.GetReflection();
  const auto value = [&](auto single, auto element) -> decltype(auto) {
    return field.is_repeated() ? (of.*element)(message, &field, index)
                               : (of.*single)(message, &field);
  };
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      return visit(value(&Reflection::GetInt32, &Reflection::GetRepeatedInt32));
    case FieldDescriptor::CPPTYPE_INT64:
      return visit(value(&Reflection::GetInt64, &Reflection::GetRepeatedInt64));
    case FieldDescriptor::CPPTYPE_UINT32:
      return visit(value(&Reflection::GetUInt32, &Reflection::GetRepeatedUInt32));
    case FieldDescriptor::CPPTYPE_UINT64:
      return visit(value(&Reflection::GetUInt64, &Reflection::GetRepeatedUInt64));
    case FieldDescriptor::CPPTYPE_FLOAT:
      return visit(value(&Reflection::GetFloat, &Reflection::GetRepeatedFloat));
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return visit(value(&Reflection::GetDouble, &Reflection::GetRepeatedDouble));
    case FieldDescriptor::CPPTYPE_BOOL:
      return visit(value(&Reflection::GetBool, &Reflection::GetRepeatedBool));
    case FieldDescriptor::CPPTYPE_ENUM:
      return visit(value(&Reflection::GetEnum, &Reflection::GetRepeatedEnum));
    case FieldDescriptor::CPPTYPE_STRING:
      return visit(value(&Reflection::GetString, &Reflection::GetRepeatedString));
    case FieldDescriptor::CPPTYPE_MESSAGE:
      break;
  }
  const google::protobuf::Message& part = field.is_repeated()
                                              ? of.GetRepeatedMessage(message, &field, index)
                                              : of.GetMessage(message, &field);
  return visit(part);
}

}  // namespace capstan

#endif  // CAPSTAN_MESSAGE_VISIT_FIELD_H_
