// A pull of one shard's part of a plan. Private to PsClient.
#ifndef CAPSTAN_CLIENT_PULL_REQUEST_H_
#define CAPSTAN_CLIENT_PULL_REQUEST_H_

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "capstan/base/ids.h"
#include "capstan/client/request.h"
#include "capstan/wire/payload.h"
#include "capstan/wire/payload_writer.h"

namespace capstan {

// *Confined to the thread of its PsClient.*
class PsClient::PullRequest final : public PsClient::Request {
 public:
  // `head` contains everything but the partitions. Copies the lists in `target`, but not what these
  // point to. A partition whose share is too large for one message is split.
  PullRequest(ShardIndex shard, const RequestPlan& plan, v1::PullRequest head,
              const PullOptions& options, const PullTarget& target, OnPulled on_done);

  const std::string& method() const override;
  grpc::ByteBuffer Encode(const RequestPlan::Chunk& chunk, bool commit) override;
  absl::Status Decode(const RequestPlan::Chunk& chunk, const grpc::ByteBuffer& reply) override;
  void Finish() override;

 private:
  absl::Status Take(const RequestPlan::Chunk& chunk, uint32_t partition,
                    const wire::PartitionPart& part);
  // The chunk has brought its share of the partition, which was read at `versions`.
  void Took(const RequestPlan::Chunk& chunk, uint32_t partition,
            const std::array<uint64_t, kParts>& versions);
  absl::Status TakeRows(const RequestPlan::Segment& segment, const wire::TablePart& part);
  absl::Status TakeBlock(const Block& block, const wire::BlockPart& part);

  const RequestPlan& plan_;
  v1::PullRequest head_;
  const RoundCommit* const closed_;  // Null if the pull is not for a round.
  std::vector<float*> rows_;
  float* dense_;
  uint64_t dense_offset_;
  PartitionVersions* versions_;
  std::vector<uint32_t*> row_versions_;
  OnPulled on_done_;
  // For each partition that is split, how many of its pieces were answered.
  absl::flat_hash_map<uint32_t, uint32_t> pieces_;
  wire::PayloadShape shape_;
  wire::Payload payload_;
};

}  // namespace capstan

#endif  // CAPSTAN_CLIENT_PULL_REQUEST_H_
