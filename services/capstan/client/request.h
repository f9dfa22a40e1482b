// One request to one shard: its chunks, and how far it is. Private to PsClient.
#ifndef CAPSTAN_CLIENT_REQUEST_H_
#define CAPSTAN_CLIENT_REQUEST_H_

#include <grpcpp/support/byte_buffer.h>

#include <cstddef>
#include <memory>
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
  // `answered`: whose partitions are left out of `all`, and where those that are answered are noted
  // if the request is to be repeated; may be null. `tells_clock`: see ChunkLifecycle.
  Request(ShardIndex shard, std::vector<RequestPlan::Chunk> all, absl::Duration timeout,
          AnsweredPartitions* answered, bool tells_clock = false)
      : Request(shard, LeaveOut(std::move(all), answered), timeout, answered, tells_clock) {}
  virtual ~Request() = default;

  virtual const std::string& method() const = 0;
  // Writes the request of one chunk, the one that `lifecycle` gave last.
  virtual grpc::ByteBuffer Encode(const RequestPlan::Chunk& chunk) = 0;
  // A reply has come. INTERNAL: it is not an answer to this chunk.
  virtual absl::Status Decode(const RequestPlan::Chunk& chunk, const grpc::ByteBuffer& reply) = 0;
  // Returns whether nothing that has been answered so far has to come again.
  virtual bool settled() const { return true; }
  // Tells the caller. Called once.
  virtual void Finish() = 0;

  // Everything has been answered, or something has failed. To be called before Finish().
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
  // What is left of chunks under way that are too large for a message. By chunk.
  absl::flat_hash_map<size_t, PushInPieces> in_pieces;

 protected:
  // Settled by earlier tries.
  const std::vector<uint32_t>& left_out() const { return left_out_; }

  // The partition need not be asked for again.
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
    // A request without values is sent all the same: its name, its clock and its round count.
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
  std::vector<std::pair<uint32_t, AnsweredPartitions::Outcomes>> answers_;  // To this try.
};

}  // namespace capstan

#endif  // CAPSTAN_CLIENT_REQUEST_H_
