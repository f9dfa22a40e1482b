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

namespace capstan {

// *Confined to the thread of its PsClient.*
class PsClient::Request {
 public:
  // `tells_clock`: see ChunkLifecycle.
  Request(ShardIndex shard, std::vector<RequestPlan::Chunk> chunks, absl::Duration timeout,
          bool tells_clock = false)
      : shard(shard),
        chunks(AtLeastOne(std::move(chunks))),
        timeout(timeout),
        lifecycle(this->chunks.size(), tells_clock) {}
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

  const ShardIndex shard;
  const std::vector<RequestPlan::Chunk> chunks;
  const absl::Duration timeout;
  ChunkLifecycle lifecycle;
  absl::Status status;                            // The first failure.
  absl::flat_hash_map<size_t, CallId> under_way;  // By chunk.

 private:
  // A request without values is sent all the same: its name, its clock and its round count.
  static std::vector<RequestPlan::Chunk> AtLeastOne(std::vector<RequestPlan::Chunk> chunks) {
    if (chunks.empty()) chunks.emplace_back();
    return chunks;
  }
};

}  // namespace capstan

#endif  // CAPSTAN_CLIENT_REQUEST_H_
