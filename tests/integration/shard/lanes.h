// Two lanes that train round after round, so that two jobs can be compared bit by bit.
#ifndef CAPSTAN_TESTS_INTEGRATION_SHARD_LANES_H_
#define CAPSTAN_TESTS_INTEGRATION_SHARD_LANES_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "tests/integration/shard/local_shard.h"
#include "tests/integration/shard/runner.h"

namespace capstan {

// Of SyncJob(kLanes). *Confined to one thread*.
class Lanes {
 public:
  static constexpr int kLanes = 2;

  explicit Lanes(LocalShards& shards);

  Runner& operator[](size_t lane) { return runners_[lane]; }

  // So many rounds, of which each has other gradients.
  void Train(int rounds);
  // A round barrier, as the chief makes it: the last commit is carried to every shard. Those
  // without partitions do not hear of it here, as they have not heard of any before (rule 27).
  void Hold();
  void Release() { runners_[0].Hold(false, ++orders_); }
  // From now on all go by the shards' view.
  void SetView();
  // All parameters, by the next round.
  std::vector<float> Everything();

 private:
  LocalShards& shards_;
  std::deque<Runner> runners_;
  int trained_ = 0;
  uint64_t orders_ = 0;
};

}  // namespace capstan

#endif  // CAPSTAN_TESTS_INTEGRATION_SHARD_LANES_H_
