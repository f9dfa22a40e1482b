// A push of one shard's part of a plan. Private to PsClient.
#ifndef CAPSTAN_CLIENT_PUSH_REQUEST_H_
#define CAPSTAN_CLIENT_PUSH_REQUEST_H_

#include <string>
#include <vector>

#include "capstan/client/request.h"
#include "capstan/wire/payload_writer.h"

namespace capstan {

// *Confined to the thread of its PsClient.*
class PsClient::PushRequest final : public PsClient::Request {
 public:
  // `head` contains everything but the partitions. With options.empty there are none. Copies the
  // lists in `source`, but not what these point to.
  PushRequest(ShardIndex shard, const RequestPlan& plan, v1::PushRequest head,
              const PushOptions& options, const PushSource& source, OnPushed on_done);

  const std::string& method() const override;
  grpc::ByteBuffer Encode(const RequestPlan::Chunk& chunk, bool commit) override;
  bool Large(const RequestPlan::Chunk& chunk) const override;
  absl::Status Decode(const RequestPlan::Chunk& chunk, const grpc::ByteBuffer& reply) override;
  bool settled() const override { return settled_; }
  void Finish() override;

 private:
  void Count(const AnsweredPartitions::Outcomes& outcomes);
  void Shape(const RequestPlan::Chunk& chunk);
  void GatherVersions(const RequestPlan::Segment& segment, char* to) const;
  void Gather(const RequestPlan::Segment& segment, const float* matrix, char* to) const;

  const RequestPlan& plan_;
  v1::PushRequest head_;
  const RoundCommit* const closed_;  // Null if the push is not for a round.
  const uint64_t clock_;
  std::vector<const float*> rows_;
  std::vector<const float*> pulled_rows_;
  const float* dense_;
  const uint64_t dense_offset_;
  const float* pulled_dense_;
  const PartitionVersions* versions_;
  std::vector<const uint32_t*> row_versions_;
  OnPushed on_done_;
  PushResult result_;
  bool settled_ = true;
  wire::PayloadShape shape_;
};

}  // namespace capstan

#endif  // CAPSTAN_CLIENT_PUSH_REQUEST_H_
