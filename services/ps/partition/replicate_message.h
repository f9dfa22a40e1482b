// A ReplicateRequest as it travels: gradients of pushes are neither copied into it nor out of it.
#ifndef CAPSTAN_PS_PARTITION_REPLICATE_MESSAGE_H_
#define CAPSTAN_PS_PARTITION_REPLICATE_MESSAGE_H_

#include <google/protobuf/arena.h>
#include <grpcpp/support/byte_buffer.h>

#include <cstddef>
#include <memory>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "capstan/v1/ps.pb.h"
#include "capstan/wire/message.h"
#include "ps/partition/push_message.h"

namespace capstan::ps {

// The pushes of a request: each once, with the shares of those partitions whose operations name it.
// *Thread-compatible*.
class SentPushes {
 public:
  // Adds a share, and fills in `operation` where the share will be.
  void Add(const PushShare& share, v1::PushOperation& operation);
  // Returns `request`, which has no pushes, with these pushes. The result shares their memory.
  grpc::ByteBuffer Write(const v1::ReplicateRequest& request) const;

 private:
  struct Sent {
    std::shared_ptr<const PushMessage> push;
    std::vector<size_t> places;
  };

  absl::flat_hash_map<const PushMessage*, size_t> index_;
  std::vector<Sent> pushes_;
};

// *Immutable, therefore thread-safe.*
class ReplicateMessage {
 public:
  // No request may hold more operations, nor more pushes.
  static constexpr int kMostItems = 1 << 16;

  // INVALID_ARGUMENT: `buffer` is no ReplicateRequest, or holds more than kMostItems.
  static absl::StatusOr<std::unique_ptr<const ReplicateMessage>> Read(
      const grpc::ByteBuffer& buffer);

  const v1::ReplicateRequest& head() const { return *head_; }  // Without the pushes.
  size_t size() const { return message_.size(); }              // Bytes of the whole message.
  size_t pushes() const { return pushes_.size(); }
  // Returns the i-th push, which shares the memory of this message.
  grpc::ByteBuffer push(size_t i) const;

 private:
  explicit ReplicateMessage(const grpc::ByteBuffer& buffer) : message_(buffer) {}
  bool ReadFields();

  google::protobuf::Arena arena_;  // Operations are many and small.
  const wire::Message message_;
  v1::ReplicateRequest* const head_ =
      google::protobuf::Arena::CreateMessage<v1::ReplicateRequest>(&arena_);
  std::vector<wire::Bytes> pushes_;
};

}  // namespace capstan::ps

#endif  // CAPSTAN_PS_PARTITION_REPLICATE_MESSAGE_H_
