// A ReplicateRequest as it travels: what pushes carried is neither copied into it nor out of it.
#ifndef CAPSTAN_PS_SHARD_REPLICATE_MESSAGE_H_
#define CAPSTAN_PS_SHARD_REPLICATE_MESSAGE_H_

#include <google/protobuf/arena.h>
#include <grpcpp/support/byte_buffer.h>

#include <cstddef>
#include <memory>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "capstan/v1/ps.pb.h"
#include "capstan/wire/message.h"
#include "ps/shard/push_message.h"

namespace capstan::ps {

// What the pushes of a request carried: each push once, and of it the partitions whose operations
// name it. *Thread-compatible*.
class SentPushes {
 public:
  // Fills in where the share will be.
  void Add(const PushShare& share, v1::PushOperation& operation);
  // Returns `request`, which has none, with these pushes. It shares the memory of theirs.
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

  // INVALID_ARGUMENT: it is no ReplicateRequest, or holds too much.
  static absl::StatusOr<std::unique_ptr<const ReplicateMessage>> Read(
      const grpc::ByteBuffer& buffer);

  const v1::ReplicateRequest& head() const { return *head_; }  // Without the pushes.
  size_t size() const { return message_.size(); }              // Bytes of all of it.
  size_t pushes() const { return pushes_.size(); }
  // Returns the i-th, which shares the memory of this message.
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

#endif  // CAPSTAN_PS_SHARD_REPLICATE_MESSAGE_H_
