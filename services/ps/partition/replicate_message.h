// A ReplicateRequest in transit: the gradients of pushes are copied neither into it nor out of it.
#ifndef CAPSTAN_PS_PARTITION_REPLICATE_MESSAGE_H_
#define CAPSTAN_PS_PARTITION_REPLICATE_MESSAGE_H_

#include <google/protobuf/arena.h>
#include <grpcpp/support/byte_buffer.h>

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "capstan/v1/ps.pb.h"
#include "capstan/wire/message.h"
#include "ps/partition/push_message.h"
#include "ps/partition/told_push.h"

namespace capstan::ps {

// Builds a request: operations in their order, and each push that they name once, with the shares
// of the partitions whose operations name it. *Thread-compatible*.
class SentOperations {
 public:
  void Add(const ToldPush& push);
  void Add(const v1::Operation& operation);  // Any other operation; one without `what` is void.

  int size() const { return size_; }  // Number of operations.
  // Returns `head`, which must have no operations and pushes, with those that were added. The
  // result shares the memory of the pushes.
  grpc::ByteBuffer Write(const v1::ReplicateRequest& head) const;

 private:
  struct Sent {
    std::shared_ptr<const PushMessage> push;
    std::vector<size_t> places;
  };

  void AddPlace(const PushShare& gradient, v1::PushOperation& operation);

  int size_ = 0;
  std::string operations_;  // Serialized, each with its tag and length.
  v1::Operation push_;      // Reused for each push, so that its parts are allocated once.
  absl::flat_hash_map<const PushMessage*, size_t> index_;
  std::vector<Sent> pushes_;
};

// *Immutable, therefore thread-safe.*
class ReplicateMessage {
 public:
  // No request may hold more operations, nor more pushes.
  static constexpr int kMostItems = 1 << 16;

  // INVALID_ARGUMENT: `buffer` is not a ReplicateRequest, or has more than kMostItems.
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
