// A batch of the simulated job as pulls and pushes on the wire: ordinary protobuf messages, as any
// client may send them.
#ifndef CAPSTAN_TESTS_SIMULATION_SIM_MESSAGES_H_
#define CAPSTAN_TESTS_SIMULATION_SIM_MESSAGES_H_

#include <grpcpp/support/byte_buffer.h>

#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "capstan/v1/ps.pb.h"
#include "capstan/v1/view.pb.h"
#include "tests/simulation/sim/job.h"

namespace capstan::sim {

struct PartVersions {
  uint64_t dense = 0;
  uint64_t sparse = 0;
};

// A batch on its way through a worker.
struct Step {
  NamedBatch batch;
  Cells pulled;
  std::map<uint32_t, PartVersions> versions;  // By partition, as pulled.
  std::map<uint64_t, uint32_t> row_versions;  // By key, as pulled; empty where rows have none.
  Cells gradient;                             // Once it is computed.
};

// The shards that hold something of the batch, ascending.
std::vector<uint32_t> ShardsOf(const Job& job, const NamedBatch& batch, const v1::View& view);

// The partitions that hold something of it.
std::set<uint32_t> PartitionsOf(const Job& job, const NamedBatch& batch);

// Header of a request to a shard, by the view. The wire version is ours.
v1::RequestHeader HeaderFor(const v1::View& view, uint32_t shard);

void AddPull(const Job& job, const NamedBatch& batch, const v1::View& view, uint32_t shard,
             v1::PullRequest& request);
// Of everything in a partition; nothing, where the shard does not hold it.
void AddPullOfAll(const Job& job, uint32_t partition, const v1::View& view, uint32_t shard,
                  v1::PullRequest& request);
void AddGradients(const Job& job, const Step& step, const v1::View& view, uint32_t shard,
                  v1::PushRequest& request);

// Takes the commit of the round before out of a request for a round.
void LeaveOutCommit(v1::PullRequest& request);
void LeaveOutCommit(v1::PushRequest& request);

// Takes what a shard has answered to `request`.
void TakeValues(const Job& job, const v1::PullRequest& request, const v1::PullReply& reply,
                Step& step);

grpc::ByteBuffer ToBuffer(const google::protobuf::MessageLite& message);
std::string Bytes(const grpc::ByteBuffer& buffer);

// `whole` as one request for each of its partitions. If it has none, one request that is empty.
std::vector<v1::PushRequest> ChunksOf(const v1::PushRequest& whole);

}  // namespace capstan::sim

#endif  // CAPSTAN_TESTS_SIMULATION_SIM_MESSAGES_H_
