// A message of any type, for code that passes messages on without reading them.
#ifndef CAPSTAN_MESSAGE_ANY_MESSAGE_H_
#define CAPSTAN_MESSAGE_ANY_MESSAGE_H_

#include <concepts>
#include <memory>
#include <utility>

#include "capstan/base/check.h"
#include "google/protobuf/message.h"

namespace capstan {

// Cheap to copy: copies share the message. *Immutable*.
class AnyMessage {
 public:
  // Implicit, so that a message of any type can be passed where an AnyMessage is expected.
  template <std::derived_from<google::protobuf::Message> Message>
  AnyMessage(Message message) : message_(std::make_shared<const Message>(std::move(message))) {}
  // REQUIRES: `message` is not null.
  explicit AnyMessage(std::unique_ptr<const google::protobuf::Message> message)
      : message_(std::move(message)) {}

  // Returns the message if its type is `Message`, and otherwise null.
  template <typename Message>
  const Message* As() const {
    return dynamic_cast<const Message*>(message_.get());
  }
  template <typename Message>
  bool Is() const {
    return As<Message>() != nullptr;
  }
  // Returns the message. REQUIRES: Is<Message>().
  template <typename Message>
  const Message& Get() const {
    CAPSTAN_CHECK(Is<Message>());
    return *As<Message>();
  }

  const google::protobuf::Message& operator*() const { return *message_; }
  const google::protobuf::Message* operator->() const { return message_.get(); }

 private:
  std::shared_ptr<const google::protobuf::Message> message_;  // Owned by the copies together.
};

}  // namespace capstan

#endif  // CAPSTAN_MESSAGE_ANY_MESSAGE_H_
