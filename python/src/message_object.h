// Messages of the wire as objects of Python.
#ifndef CAPSTAN_PYTHON_SRC_MESSAGE_OBJECT_H_
#define CAPSTAN_PYTHON_SRC_MESSAGE_OBJECT_H_

#include <google/protobuf/message.h>
#include <nanobind/nanobind.h>

namespace capstan::python {

// A types.SimpleNamespace with an attribute for each field, set or not: numbers, texts and bytes as
// such, names of enumerations in small letters and without that of their type ("running"), lists,
// dictionaries, and further messages. REQUIRES: the interpreter's lock; no message that holds one
// of its own kind, but in a list.
nanobind::object ObjectOf(const google::protobuf::Message& message);

}  // namespace capstan::python

#endif  // CAPSTAN_PYTHON_SRC_MESSAGE_OBJECT_H_
