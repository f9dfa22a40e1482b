#include "capstan/client/push_request.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "capstan/base/bounded_seconds.h"
#include "capstan/consistency/decisions.h"
#include "capstan/consistency/round_commit.h"
#include "capstan/rpc/limits.h"
#include "capstan/rpc/status.h"
#include "capstan/wire/floats.h"

namespace capstan {

PsClient::PushRequest::PushRequest(ShardIndex shard, const RequestPlan& plan, v1::PushRequest head,
                                   const PushOptions& options, const PushSource& source,
                                   OnPushed on_done)
    : Request(shard, options.empty ? std::vector<RequestPlan::Chunk>() : plan.ChunksOf(shard),
              options.timeout, options.answered, /*tells_clock=*/options.clock > 0),
      plan_(plan),
      head_(std::move(head)),
      closed_(options.stage ? options.stage->round.closed : nullptr),
      clock_(options.clock),
      rows_(source.rows.begin(), source.rows.end()),
      pulled_rows_(source.pulled_rows.begin(), source.pulled_rows.end()),
      dense_(source.dense),
      dense_offset_(source.dense_offset),
      pulled_dense_(source.pulled_dense),
      versions_(source.versions),
      row_versions_(source.row_versions.begin(), source.row_versions.end()),
      on_done_(std::move(on_done)) {
  for (uint32_t partition : left_out()) Count(*options.answered->Find(partition));
}

const std::string& PsClient::PushRequest::method() const {
  static const std::string& name = *new std::string("/capstan.v1.Ps/Push");
  return name;
}

void PsClient::PushRequest::Shape(const RequestPlan::Chunk& chunk) {
  const size_t float_size = wire::FloatSize(head_.dtype());
  shape_.Clear();
  for (uint32_t partition : chunk.partitions) {
    shape_.AddPartition(partition);
    for (const RequestPlan::Segment& segment : plan_.SegmentsOf(partition)) {
      const ParameterMap::Table& table = plan_.map().tables()[segment.table];
      const size_t rows = segment.end - segment.begin;
      const size_t bytes = rows * table.dim * float_size;
      shape_.Add(wire::TableShape{.table = Raw(table.id),
                                  .keys = rows * sizeof(uint64_t),
                                  .values = bytes,
                                  .pulled = pulled_rows_.empty() ? 0 : bytes,
                                  .updates = row_versions_.empty() ? 0 : rows * sizeof(uint32_t)});
    }
    for (BlockId block : plan_.BlocksOf(chunk, partition)) {
      const size_t bytes = plan_.map().layout().block(block).length * float_size;
      shape_.Add(wire::BlockShape{
          .block = Raw(block), .values = bytes, .pulled = pulled_dense_ == nullptr ? 0 : bytes});
    }
  }
}

void PsClient::PushRequest::Gather(const RequestPlan::Segment& segment, const float* matrix,
                                   char* to) const {
  const size_t dim = plan_.map().tables()[segment.table].dim;
  for (uint32_t i = segment.begin; i < segment.end; ++i) {
    to = wire::PutFloats(head_.dtype(), matrix + size_t{plan_.rows()[i]} * dim, dim, to);
  }
}

void PsClient::PushRequest::GatherVersions(const RequestPlan::Segment& segment, char* to) const {
  const uint32_t* const versions = row_versions_[segment.table];
  for (uint32_t i = segment.begin; i < segment.end; ++i, to += sizeof(uint32_t)) {
    std::memcpy(to, &versions[plan_.rows()[i]], sizeof(uint32_t));
  }
}

bool PsClient::PushRequest::Large(const RequestPlan::Chunk& chunk) const {
  const bool pulled = pulled_dense_ != nullptr || !pulled_rows_.empty();
  const size_t value_bytes = wire::FloatSize(head_.dtype()) * (pulled ? 2 : 1);
  return !plan_.CheckSize(chunk, value_bytes, kMaxMessageBytes).ok();
}

grpc::ByteBuffer PsClient::PushRequest::Encode(const RequestPlan::Chunk& chunk, bool commit) {
  Shape(chunk);
  if (head_.has_stage()) head_.mutable_stage()->clear_closed();
  if (commit && closed_ != nullptr) ToProto(*closed_, *head_.mutable_stage()->mutable_closed());
  head_.mutable_header()->set_clock(lifecycle.LastTellsClock() ? clock_ : 0);
  wire::PayloadWriter writer(wire::kPushRequest, &head_, shape_);
  size_t table = 0;
  size_t block = 0;
  for (size_t i = 0; i < chunk.partitions.size(); ++i) {
    const uint32_t partition = chunk.partitions[i];
    if (versions_ != nullptr) {
      const auto& [dense, sparse] = (*versions_)[partition];
      writer.SetVersions(i, dense, sparse);
    }
    for (const RequestPlan::Segment& segment : plan_.SegmentsOf(partition)) {
      const wire::TablePlace& place = writer.table(table);
      std::memcpy(place.keys, &plan_.keys()[segment.begin], shape_.tables[table].keys);
      Gather(segment, rows_[segment.table], place.values);
      if (place.pulled != nullptr) Gather(segment, pulled_rows_[segment.table], place.pulled);
      if (place.updates != nullptr) GatherVersions(segment, place.updates);
      ++table;
    }
    for (BlockId id : plan_.BlocksOf(chunk, partition)) {
      const Block& of = plan_.map().layout().block(id);
      const wire::BlockPlace& place = writer.block(block++);
      const uint64_t offset = of.flat_offset - dense_offset_;
      wire::PutFloats(head_.dtype(), dense_ + offset, of.length, place.values);
      if (place.pulled != nullptr) {
        wire::PutFloats(head_.dtype(), pulled_dense_ + offset, of.length, place.pulled);
      }
    }
  }
  return writer.Finish();
}

absl::Status PsClient::PushRequest::Decode(const RequestPlan::Chunk& chunk,
                                           const grpc::ByteBuffer& reply) {
  v1::PushReply outcomes;
  grpc::ByteBuffer bytes(reply);
  const grpc::Status parsed =
      grpc::SerializationTraits<v1::PushReply>::Deserialize(&bytes, &outcomes);
  if (!parsed.ok()) return absl::InternalError("PushReply cannot be parsed");
  if (static_cast<size_t>(outcomes.partitions_size()) != chunk.partitions.size()) {
    return absl::InternalError(absl::StrCat("PushReply: ", outcomes.partitions_size(),
                                            " partitions, sent ", chunk.partitions.size()));
  }
  if (outcomes.asks_for_commits()) asks = head_.header().target_incarnation();
  for (size_t i = 0; i < chunk.partitions.size(); ++i) {
    const v1::PartitionOutcome& partition = outcomes.partitions(static_cast<int>(i));
    const v1::Outcome dense = KnownOutcome(partition.dense());
    const v1::Outcome sparse = KnownOutcome(partition.sparse());
    Count({dense, sparse});
    const bool settled = IsSettled(dense) && IsSettled(sparse);
    if (settled) Answered(chunk.partitions[i], {dense, sparse});
    settled_ = settled_ && settled;
  }
  const absl::Duration hint =
      BoundedSeconds(outcomes.retry_after_seconds(), absl::ZeroDuration(), kLongestRetryHint);
  result_.retry_after = std::max(result_.retry_after, hint);
  return absl::OkStatus();
}

void PsClient::PushRequest::Count(const AnsweredPartitions::Outcomes& outcomes) {
  for (v1::Outcome outcome : outcomes) ++result_.outcomes[outcome];
}

void PsClient::PushRequest::Finish() {
  result_.status = status;
  if (!status.ok()) result_.retry_after = RetryAfter(status);
  on_done_(result_);
}

}  // namespace capstan
