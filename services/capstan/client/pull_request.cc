#include "capstan/client/pull_request.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "capstan/base/status.h"
#include "capstan/consistency/round_commit.h"
#include "capstan/rpc/limits.h"
#include "capstan/wire/floats.h"
#include "capstan/wire/reader.h"

namespace capstan {
namespace {

absl::Status NotAnAnswer(uint32_t partition) {
  return absl::InternalError(
      absl::StrCat("PullReply: partition ", partition, " does not hold what was asked"));
}

}  // namespace

PsClient::PullRequest::PullRequest(ShardIndex shard, const RequestPlan& plan, v1::PullRequest head,
                                   const PullOptions& options, const PullTarget& target,
                                   OnPulled on_done)
    : Request(
          shard,
          plan.CutChunksOf(
              shard, options.frozen ? RequestPlan::Blocks::kAll : RequestPlan::Blocks::kChanging,
              wire::FloatSize(head.dtype()), kMaxMessageBytes),
          options.timeout, options.answered),
      plan_(plan),
      head_(std::move(head)),
      closed_(options.round ? options.round->closed : nullptr),
      rows_(target.rows.begin(), target.rows.end()),
      dense_(target.dense),
      dense_offset_(target.dense_offset),
      versions_(target.versions),
      row_versions_(target.row_versions.begin(), target.row_versions.end()),
      on_done_(std::move(on_done)) {}

const std::string& PsClient::PullRequest::method() const {
  static const std::string& name = *new std::string("/capstan.v1.Ps/Pull");
  return name;
}

grpc::ByteBuffer PsClient::PullRequest::Encode(const RequestPlan::Chunk& chunk, bool commit) {
  head_.clear_closed();
  if (commit && closed_ != nullptr) ToProto(*closed_, *head_.mutable_closed());
  shape_.Clear();
  for (uint32_t partition : chunk.partitions) {
    shape_.AddPartition(partition);
    plan_.ForSegments(chunk, partition, [this](const RequestPlan::Segment& segment) {
      shape_.Add(wire::TableShape{.table = Raw(plan_.map().tables()[segment.table].id),
                                  .keys = (segment.end - segment.begin) * sizeof(uint64_t)});
    });
    for (BlockId block : plan_.BlocksOf(chunk, partition)) {
      shape_.Add(wire::BlockShape{.block = Raw(block)});
    }
  }
  wire::PayloadWriter writer(wire::kPullRequest, &head_, shape_);
  size_t table = 0;
  for (uint32_t partition : chunk.partitions) {
    plan_.ForSegments(chunk, partition, [&](const RequestPlan::Segment& segment) {
      std::memcpy(writer.table(table).keys, &plan_.keys()[segment.begin],
                  shape_.tables[table].keys);
      ++table;
    });
  }
  return writer.Finish();
}

absl::Status PsClient::PullRequest::Decode(const RequestPlan::Chunk& chunk,
                                           const grpc::ByteBuffer& reply) {
  const wire::Message message(reply);
  v1::PullReply head;
  CAPSTAN_RETURN_IF_ERROR(wire::Read(wire::kPullReply, message, head, payload_));
  if (payload_.partitions.size() != chunk.partitions.size()) {
    return absl::InternalError(absl::StrCat("PullReply: ", payload_.partitions.size(),
                                            " partitions, asked for ", chunk.partitions.size()));
  }
  for (size_t i = 0; i < chunk.partitions.size(); ++i) {
    const wire::PartitionPart& part = payload_.partitions[i];
    CAPSTAN_RETURN_IF_ERROR(Take(chunk, chunk.partitions[i], part));
    Took(chunk, chunk.partitions[i], {part.dense_version, part.sparse_version});
  }
  return absl::OkStatus();
}

absl::Status PsClient::PullRequest::Take(const RequestPlan::Chunk& chunk, uint32_t partition,
                                         const wire::PartitionPart& part) {
  const auto blocks = plan_.BlocksOf(chunk, partition);
  const auto tables = std::as_const(payload_).tables_of(part);
  const auto values = payload_.blocks_of(part);
  if (part.partition != partition || values.size() != blocks.size()) return NotAnAnswer(partition);
  size_t taken = 0;
  absl::Status status;
  plan_.ForSegments(chunk, partition, [&](const RequestPlan::Segment& segment) {
    if (taken < tables.size()) status.Update(TakeRows(segment, tables[taken]));
    ++taken;
  });
  CAPSTAN_RETURN_IF_ERROR(status);
  if (taken != tables.size()) return NotAnAnswer(partition);
  for (size_t i = 0; i < blocks.size(); ++i) {
    CAPSTAN_RETURN_IF_ERROR(TakeBlock(plan_.map().layout().block(blocks[i]), values[i]));
  }
  return absl::OkStatus();
}

void PsClient::PullRequest::Took(const RequestPlan::Chunk& chunk, uint32_t partition,
                                 const std::array<uint64_t, kParts>& versions) {
  const uint32_t answered = chunk.pieces == 1 ? 1 : ++pieces_[partition];
  if (answered == chunk.pieces) Answered(partition);
  if (versions_ == nullptr) return;
  std::array<uint64_t, kParts>& known = (*versions_)[partition];
  for (size_t part = 0; part < kParts; ++part) {
    // Pieces may have different versions: a gradient computed from them is as old as the oldest
    // one.
    known[part] = answered == 1 ? versions[part] : std::min(known[part], versions[part]);
  }
}

absl::Status PsClient::PullRequest::TakeRows(const RequestPlan::Segment& segment,
                                             const wire::TablePart& part) {
  const ParameterMap::Table& table = plan_.map().tables()[segment.table];
  const size_t dim = table.dim;
  const size_t count = segment.end - segment.begin;
  const bool wants_versions = !row_versions_.empty();
  if (part.table != Raw(table.id) ||
      part.values.size() != count * dim * wire::FloatSize(head_.dtype()) ||
      (wants_versions && part.updates.size() != count * sizeof(uint32_t))) {
    return NotAnAnswer(segment.partition);
  }
  float* const matrix = rows_[segment.table];
  const auto rows = plan_.rows().subspan(segment.begin, count);
  wire::BytesReader reader(part.values);
  for (uint32_t row : rows) {
    wire::TakeFloats(head_.dtype(), reader, dim, matrix + size_t{row} * dim);
  }
  if (!wants_versions) return absl::OkStatus();
  wire::BytesReader versions(part.updates);
  for (uint32_t row : rows) {
    versions.Read(&row_versions_[segment.table][row], sizeof(uint32_t));
  }
  return absl::OkStatus();
}

absl::Status PsClient::PullRequest::TakeBlock(const Block& block, const wire::BlockPart& part) {
  if (part.block != Raw(block.id) ||
      part.values.size() != block.length * wire::FloatSize(head_.dtype())) {
    return NotAnAnswer(static_cast<uint32_t>(Raw(block.partition)));
  }
  wire::BytesReader reader(part.values);
  wire::TakeFloats(head_.dtype(), reader, block.length,
                   dense_ + (block.flat_offset - dense_offset_));
  return absl::OkStatus();
}

void PsClient::PullRequest::Finish() {
  on_done_(PullResult{.status = status, .retry_after = RetryAfter(status)});
}

}  // namespace capstan
