// One request to one shard: its chunks, and which of them were answered. Private to PsClient.
#ifndef CAPSTAN_CLIENT_REQUEST_H_
#define CAPSTAN_CLIENT_REQUEST_H_

#include <grpcpp/support/byte_buffer.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "capstan/client/chunk_lifecycle.h"
#include "capstan/client/ps_client.h"
#include "capstan/client/push_in_pieces.h"

namespace capstan {

// *Confined to the thread of its PsClient.*
class PsClient::Request {
 public:
  // `answered`: its partitions are omitted from the chunks `all`, and NoteAnswers() adds to it; may
  // be null. `tells_clock`: see ChunkLifecycle.
  Request(ShardIndex shard, std::vector<RequestPlan::Chunk> all, absl::Duration timeout,
          AnsweredPartitions* answered, bool tells_clock = false)
      : Request(shard, LeaveOut(std::move(all), answered), timeout, answered, tells_clock) {}
  virtual ~Request() = default;

  virtual const std::string& method() const = 0;
  // Writes the message of `chunk`; with `commit` it carries the commit of the previous round, if
  // the request is for a round. REQUIRES: lifecycle.Next() has returned this chunk, it is not
  // answered, and none has failed.
  virtual grpc::ByteBuffer Encode(const RequestPlan::Chunk& chunk, bool commit) = 0;
  // Returns true if the message of `chunk` may be too large for one message.
  virtual bool Large(const RequestPlan::Chunk&) const { return false; }
  // Takes in the reply to `chunk`. INTERNAL: the reply does not match this chunk.
  virtual absl::Status Decode(const RequestPlan::Chunk& chunk, const grpc::ByteBuffer& reply) = 0;
  // Returns false if something that was answered has to be sent again.
  virtual bool settled() const { return true; }
  // Runs the caller's callback. Called once.
  virtual void Finish() = 0;

  // Must be called before Finish(), when all chunks were answered or one has failed. If the request
  // has to be repeated, adds the partitions that were answered to `answered`; otherwise removes
  // those that were omitted.
  void NoteAnswers() {
    if (answered_ == nullptr) return;
    if (status.ok() && settled()) {
      for (uint32_t partition : left_out_) answered_->Forget(partition);
    } else {
      for (const auto& [partition, outcomes] : answers_) answered_->Add(partition, outcomes);
    }
  }

  const ShardIndex shard;
  const std::vector<RequestPlan::Chunk> chunks;
  const absl::Duration timeout;
  ChunkLifecycle lifecycle;
  absl::Status status;                            // The first failure.
  absl::flat_hash_map<size_t, CallId> under_way;  // By chunk.
  // Chunks that are too large for one message, and are being sent in pieces. By chunk.
  absl::flat_hash_map<size_t, PushInPieces> in_pieces;
  std::set<size_t> without_commit;  // Chunks under way that carry no commit.
  // The incarnation of the process that has said, in a reply, that it asks for commits.
  std::optional<uint64_t> asks;

 protected:
  // The partitions that earlier tries have settled.
  const std::vector<uint32_t>& left_out() const { return left_out_; }

  // Records that `partition` need not be requested again.
  void Answered(uint32_t partition, const AnsweredPartitions::Outcomes& outcomes = {}) {
    if (answered_ != nullptr) answers_.emplace_back(partition, outcomes);
  }

 private:
  struct Remainder {
    std::vector<RequestPlan::Chunk> chunks;
    std::vector<uint32_t> left_out;
  };
  static Remainder LeaveOut(std::vector<RequestPlan::Chunk> all,
                            const AnsweredPartitions* answered) {
    Remainder remainder{.chunks = std::move(all)};
    if (answered != nullptr && !answered->empty()) {
      for (RequestPlan::Chunk& chunk : remainder.chunks) {
        std::erase_if(chunk.partitions, [&](uint32_t partition) {
          if (answered->Find(partition) == nullptr) return false;
          if (chunk.piece == 0) remainder.left_out.push_back(partition);
          return true;
        });
      }
      std::erase_if(remainder.chunks, [](const auto& chunk) { return chunk.partitions.empty(); });
    }
    // A request without values is still sent, because its name, its clock and its round count.
    if (remainder.chunks.empty()) remainder.chunks.emplace_back();
    return remainder;
  }

  Request(ShardIndex shard, Remainder remainder, absl::Duration timeout,
          AnsweredPartitions* answered, bool tells_clock)
      : shard(shard),
        chunks(std::move(remainder.chunks)),
        timeout(timeout),
        lifecycle(chunks.size(), tells_clock),
        answered_(answered),
        left_out_(std::move(remainder.left_out)) {}

  AnsweredPartitions* const answered_;
  const std::vector<uint32_t> left_out_;
  std::vector<std::pair<uint32_t, AnsweredPartitions::Outcomes>>
      answers_;  // Answers to this attempt.
};

}  // namespace capstan

#endif  // CAPSTAN_CLIENT_REQUEST_H_
