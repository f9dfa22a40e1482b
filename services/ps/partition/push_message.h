// A push request as a shard uses it, after complete validation: gradients point into the message.
#ifndef CAPSTAN_PS_PARTITION_PUSH_MESSAGE_H_
#define CAPSTAN_PS_PARTITION_PUSH_MESSAGE_H_

#include <grpcpp/support/byte_buffer.h>

#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "capstan/store/update.h"
#include "capstan/v1/ps.pb.h"
#include "capstan/wire/message.h"
#include "capstan/wire/payload.h"
#include "ps/partition/catalog.h"
#include "ps/partition/memory_budget.h"

namespace capstan::ps {

// *Immutable after Read, therefore thread-safe.* Shared by the request being served and by the
// partitions in which its gradients are staged or queued.
class PushMessage {
 public:
  // Reads and checks a whole push. INVALID_ARGUMENT, NOT_FOUND or FAILED_PRECONDITION (a key of
  // another partition): no part of the push may be applied. With a `reservation` the message is
  // copied out of the transport's memory, because its gradients wait before they are applied; the
  // reservation lives as long as the message.
  static absl::StatusOr<std::shared_ptr<const PushMessage>> Read(const grpc::ByteBuffer& buffer,
                                                                 const Catalog& catalog,
                                                                 Reservation reservation);

  // Reads only what head() returns. INVALID_ARGUMENT: `buffer` is not a push.
  static absl::StatusOr<v1::PushRequest> ReadHead(const grpc::ByteBuffer& buffer);

  const v1::PushRequest& head() const { return head_; }  // Without the partitions.
  absl::Span<const wire::PartitionPart> partitions() const { return payload_.partitions; }

  // Returns true if the message was copied out of the transport's memory, so that it may wait.
  bool owns_memory() const { return reservation_ != nullptr; }

  size_t size() const { return message_.size(); }  // Bytes of the whole message.
  // Bytes of the share for the partition at this place.
  size_t ShareSize(size_t place) const { return payload_.partitions[place].field.size(); }
  // Appends to `slices` a serialized push that holds only the partitions at these places, in this
  // order. The slices share this message's memory. Returns the size of that push in bytes.
  size_t AppendShares(absl::Span<const size_t> places, std::vector<grpc::Slice>& slices) const;

  // The gradients of one partition's rows in one table, and of one block. Their weights are 1.
  struct Rows {
    TableId table{};
    RowGradients gradients;
  };
  struct Values {
    BlockId block{};
    BlockGradient gradient;
  };
  absl::Span<const Rows> rows_of(const wire::PartitionPart& part) const;
  absl::Span<const Values> blocks_of(const wire::PartitionPart& part) const;

  // Returns true if each row of the partition's share names the version of it that was pulled.
  bool KnowsRowVersions(const wire::PartitionPart& part) const;

  // Returns true if the partition's share contains something for this part of the model.
  bool Holds(const wire::PartitionPart& part, Part which) const;

 private:
  PushMessage(const grpc::ByteBuffer& buffer, wire::Message::Memory memory)
      : message_(buffer, memory) {}
  absl::Status Resolve(const Catalog& catalog);
  absl::StatusOr<PackedFloats> Floats(const wire::Bytes& bytes);
  float* Widened(size_t count);

  Reservation reservation_;  // Null if the push does not wait.
  wire::Message message_;
  v1::PushRequest head_;
  wire::Payload payload_;
  std::vector<Rows> rows_;            // In the order of payload_.tables.
  std::vector<Values> blocks_;        // In the order of payload_.blocks.
  std::unique_ptr<float[]> widened_;  // Floats that came as bfloat16, as float32.
  size_t widened_used_ = 0;
};

// The share of a push for one partition. Keeps the message alive.
struct PushShare {
  std::shared_ptr<const PushMessage> push;
  size_t place = 0;  // The index in the push's partitions.
};

}  // namespace capstan::ps

#endif  // CAPSTAN_PS_PARTITION_PUSH_MESSAGE_H_
