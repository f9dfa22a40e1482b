// A pull request as a shard uses it, after complete validation.
#ifndef CAPSTAN_PS_PARTITION_PULL_QUERY_H_
#define CAPSTAN_PS_PARTITION_PULL_QUERY_H_

#include <grpcpp/support/byte_buffer.h>

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "capstan/consistency/round_commit.h"
#include "capstan/store/packed.h"
#include "capstan/v1/ps.pb.h"
#include "capstan/wire/message.h"
#include "capstan/wire/payload.h"
#include "capstan/wire/payload_writer.h"
#include "ps/partition/catalog.h"

namespace capstan::ps {

// *Immutable after Read, therefore thread-safe.*
class PullQuery {
 public:
  // INVALID_ARGUMENT, NOT_FOUND, FAILED_PRECONDITION (a key of another partition), or
  // RESOURCE_EXHAUSTED (the reply would be larger than a message may be).
  static absl::StatusOr<std::unique_ptr<const PullQuery>> Read(const grpc::ByteBuffer& buffer,
                                                               const Catalog& catalog);

  const v1::PullRequest& head() const { return head_; }  // Without the partitions.
  absl::Span<const wire::PartitionPart> partitions() const { return payload_.partitions; }
  // The keys, table and block at index i of the payload's tables, or blocks.
  PackedKeys keys(size_t i) const { return keys_[i]; }
  TableId table(size_t i) const { return TableId{payload_.tables[i].table}; }
  BlockId block(size_t i) const { return BlockId{payload_.blocks[i].block}; }

  // The size in bytes of the request, which this object keeps.
  size_t bytes() const { return message_.size(); }

  // The shape of the reply: the sizes of all values that are asked for.
  const wire::PayloadShape& reply_shape() const { return reply_shape_; }

 private:
  explicit PullQuery(const grpc::ByteBuffer& buffer) : message_(buffer) {}
  absl::Status Resolve(const Catalog& catalog);

  wire::Message message_;
  v1::PullRequest head_;
  wire::Payload payload_;
  std::vector<PackedKeys> keys_;  // In the order of payload_.tables.
  wire::PayloadShape reply_shape_;
};

}  // namespace capstan::ps

#endif  // CAPSTAN_PS_PARTITION_PULL_QUERY_H_
