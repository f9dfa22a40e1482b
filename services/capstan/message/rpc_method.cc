#include "capstan/message/rpc_method.h"

#include "absl/strings/str_cat.h"
#include "capstan/base/check.h"

namespace capstan {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FileDescriptor;
using google::protobuf::MethodDescriptor;
using google::protobuf::ServiceDescriptor;

const MethodDescriptor* FindMethod(const ServiceDescriptor& service, const Descriptor& request) {
  for (int i = 0; i < service.method_count(); ++i) {
    if (service.method(i)->input_type() == &request) return service.method(i);
  }
  return nullptr;
}

const MethodDescriptor* FindMethod(const FileDescriptor& file, const Descriptor& request) {
  for (int i = 0; i < file.service_count(); ++i) {
    const MethodDescriptor* const method = FindMethod(*file.service(i), request);
    if (method != nullptr) return method;
  }
  return nullptr;
}

}  // namespace

const MethodDescriptor& MethodOf(const Descriptor& request) {
  const MethodDescriptor* const method = FindMethod(*request.file(), request);
  CAPSTAN_CHECK(method != nullptr);
  return *method;
}

std::string PathOf(const MethodDescriptor& method) {
  return absl::StrCat("/", method.service()->full_name(), "/", method.name());
}

std::unique_ptr<google::protobuf::Message> NewMessage(const Descriptor& type) {
  const google::protobuf::Message* const empty =
      google::protobuf::MessageFactory::generated_factory()->GetPrototype(&type);
  CAPSTAN_CHECK(empty != nullptr);
  return std::unique_ptr<google::protobuf::Message>(empty->New());
}

}  // namespace capstan
