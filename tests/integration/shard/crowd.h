// Clients that push without a pause while partitions move or shards die, and what each of them is
// to find at the end.
#ifndef CAPSTAN_TESTS_INTEGRATION_SHARD_CROWD_H_
#define CAPSTAN_TESTS_INTEGRATION_SHARD_CROWD_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "capstan/v1/view.pb.h"
#include "tests/integration/shard/counting_client.h"
#include "tests/integration/shard/local_shard.h"

namespace capstan {

// Each pushes its own column of SmallJob(kColumns, kColumns), and looks at the newest view when it
// is refused. *Confined to one thread*, but for its own.
class Crowd {
 public:
  static constexpr uint32_t kColumns = 4;
  static constexpr uint32_t kRows = 64;

  explicit Crowd(LocalShards& shards);
  ~Crowd() { Stop(); }

  // The view at which they look when they are refused.
  void Tell(const v1::View& view);
  void AwaitPushes(int more);
  // Ends, and expects that each push has counted once, also when it comes again.
  void ExpectExact();

 private:
  void Stop();

  absl::Mutex mu_;
  v1::View view_ ABSL_GUARDED_BY(mu_);
  std::atomic<bool> stopping_{false};
  std::atomic<int> pushes_{0};
  std::vector<std::unique_ptr<CountingClient>> clients_;
  std::vector<std::thread> threads_;
};

}  // namespace capstan

#endif  // CAPSTAN_TESTS_INTEGRATION_SHARD_CROWD_H_
