// Properties of RPCs according to the protos, for code that calls and serves all of them alike.
#ifndef CAPSTAN_MESSAGE_RPC_METHOD_H_
#define CAPSTAN_MESSAGE_RPC_METHOD_H_

#include <memory>
#include <string>

#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"

namespace capstan {

// Returns the RPC whose requests are of this type. REQUIRES: there is one, in the file of the type.
const google::protobuf::MethodDescriptor& MethodOf(const google::protobuf::Descriptor& request);

// Returns the name of the RPC as it is called: "/capstan.v1.Ps/Flush".
std::string PathOf(const google::protobuf::MethodDescriptor& method);

// Returns an empty message of a type that the program is built with.
std::unique_ptr<google::protobuf::Message> NewMessage(const google::protobuf::Descriptor& type);

}  // namespace capstan

#endif  // CAPSTAN_MESSAGE_RPC_METHOD_H_
