// What a test pulls and pushes with: a client, a plan, and matrices of the job's one table and its
// dense vector. *Confined to one thread*.
#ifndef CAPSTAN_TESTS_INTEGRATION_SHARD_TRAINER_H_
#define CAPSTAN_TESTS_INTEGRATION_SHARD_TRAINER_H_

#include <cstdint>
#include <vector>

#include "capstan/client/ps_client.h"
#include "tests/integration/shard/local_shard.h"

namespace capstan {

// So many keys, from the first one on.
std::vector<uint64_t> Keys(uint64_t first, uint64_t count);

// Of SmallJob(), with or without the table or the vector.
struct Trainer {
  explicit Trainer(LocalShards& shards, PsClientOptions options = {});

  // From now on pulls and pushes go by this view.
  void SetView(const v1::View& view);

  // What the next pulls and pushes are of: these rows, and all of the dense vector.
  void Plan(const std::vector<uint64_t>& use);

  PullResult Pull(const PullOptions& options = {});

  // The same gradient for every element; what the versions were at the last pull goes with it.
  PushResult Push(uint64_t seq, float gradient);
  PushResult Push(const PushOptions& options, float gradient);

  EventLoop loop;
  ParameterMap map;
  PsClient client;
  RequestPlan plan;
  const bool rows_judged;
  std::vector<uint64_t> keys;
  std::vector<float> rows;   // As pulled; -1 before.
  std::vector<float> dense;  // Likewise.
  PartitionVersions versions;
  std::vector<uint32_t> row_versions;  // Where the job's rows have versions.
  bool send_pulled = false;            // The weights go with every push, as `compensate` wants it.
};

}  // namespace capstan

#endif  // CAPSTAN_TESTS_INTEGRATION_SHARD_TRAINER_H_
