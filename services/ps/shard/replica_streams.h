// The streams of operations from this process to the processes that back up its partitions: one
// stream to each.
#ifndef CAPSTAN_PS_SHARD_REPLICA_STREAMS_H_
#define CAPSTAN_PS_SHARD_REPLICA_STREAMS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "capstan/base/ids.h"
#include "capstan/consistency/round_commit.h"
#include "ps/machines/closed_log.h"
#include "ps/partition/replica_stream.h"

namespace capstan::ps {

// *Thread-safe*. Its lock may be taken under any but a stream's.
class ReplicaStreams {
 public:
  // Returns the stream to `target` in this timeline. If there is none, begins one with the commits
  // that are `kept` here: the target may not know them, as no worker may push to it yet.
  std::shared_ptr<ReplicaStream> To(const ReplicaTarget& target, uint64_t timeline,
                                    const ClosedLog& kept);
  // Forgets the streams to processes other than `targets`, which no pair uses any more.
  void KeepOnly(const std::set<Incarnation>& targets);
  std::vector<std::shared_ptr<ReplicaStream>> All() const;

  // Sends every backup a round commit, without which it could not pass the round.
  void TellClosed(const RoundCommit& closed);

  // Sends every backup how many steps a trainer has finished here.
  void TellFinished(TrainerId trainer, uint64_t clock);
  // Sets the memory limit of the streams that are begun from now on.
  void SetLimit(size_t bytes);
  // Return how many bytes are kept for operations that targets have not confirmed: in all streams,
  // and in the stream that keeps most.
  size_t bytes() const;
  size_t most_bytes() const;

  // `wake` is called when there is something to send. It must return quickly, as the caller may
  // hold locks.
  void SetWake(std::function<void()> wake);
  // This process ends: closes all streams, so that nobody waits for a backup any more.
  void Close();

 private:
  void Wake() const;

  mutable absl::Mutex mu_;
  std::map<Incarnation, std::shared_ptr<ReplicaStream>> streams_ ABSL_GUARDED_BY(mu_);
  size_t limit_ ABSL_GUARDED_BY(mu_) = size_t{64} << 20;
  uint64_t last_number_ ABSL_GUARDED_BY(mu_) = 0;
  mutable absl::Mutex wake_mu_;
  std::function<void()> wake_ ABSL_GUARDED_BY(wake_mu_);
};

}  // namespace capstan::ps

#endif  // CAPSTAN_PS_SHARD_REPLICA_STREAMS_H_
