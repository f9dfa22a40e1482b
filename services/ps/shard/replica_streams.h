// The streams of operations from this process to those that back its partitions up: one for each.
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
#include "ps/shard/replica_stream.h"

namespace capstan::ps {

// *Thread-safe*. Its lock may be taken under any but a stream's.
class ReplicaStreams {
 public:
  // The one to this process, in this timeline. If there is none it is begun, and first tells of the
  // rounds that are `kept` here: its process may have heard of none of them, as one that nobody
  // pushes to yet.
  std::shared_ptr<ReplicaStream> To(const ReplicaTarget& target, uint64_t timeline,
                                    const ClosedLog& kept);
  // Those to other processes than `targets` are over: no pair uses them.
  void KeepOnly(const std::set<Incarnation>& targets);
  std::vector<std::shared_ptr<ReplicaStream>> All() const;

  // Tells every backup of a round, without which it could not pass the next ones.
  void TellClosed(const RoundCommit& closed);

  // Tells every backup what a trainer has finished here.
  void TellFinished(TrainerId trainer, uint64_t clock);
  // A stream that begins from now on is full above this.
  void SetLimit(size_t bytes);
  // Return how many bytes operations keep that their targets have not taken: of all streams, and of
  // the one that has most.
  size_t bytes() const;
  size_t most_bytes() const;

  // Whoever sends: called when there is something to send. Short, for locks are held.
  void SetWake(std::function<void()> wake);
  // Whoever waits for a backup is told that this process ends.
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
