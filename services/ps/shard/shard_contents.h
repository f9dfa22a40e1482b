// Changes which partitions a shard has: they are loaded from a checkpoint for a timeline, come from
// other shards by moves, as owners or as backups, and leave.
#ifndef CAPSTAN_PS_SHARD_SHARD_CONTENTS_H_
#define CAPSTAN_PS_SHARD_SHARD_CONTENTS_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "capstan/base/ids.h"
#include "capstan/consistency/round_commit.h"
#include "ps/machines/clock_machine.h"
#include "ps/machines/coordinator_machine.h"
#include "ps/partition/partition_content.h"
#include "ps/shard/own_view.h"
#include "ps/shard/shard_parts.h"

namespace capstan::ps {

// The state of the rounds when a timeline begins on a shard.
struct RoundsStart {
  uint64_t passed = 0;  // How many rounds every partition has passed.
  // If partition 0 is here: the coordinator's state; nullopt: the first round opens.
  std::optional<CoordinatorState> coordinator;
};

// A partition that has come from another shard, with the rounds, clocks and coordinator's state of
// that shard.
struct MovedPartition {
  Timeline timeline{};
  PartitionContent content;
  RoundCommit passed;                           // If a part is synchronous.
  std::vector<FinishedClock> clocks;            // If a part is ssp.
  std::optional<CoordinatorState> coordinator;  // With partition 0, if a part is synchronous.
};

// *Thread-safe*.
class ShardContents {
 public:
  // `parts` must outlive this object.
  explicit ShardContents(ShardParts& parts) : parts_(parts) {}

  // ---- a timeline: BeginLoad, then Load each partition, then Serve ----

  // Ends serving, so that `timeline` can be loaded. FAILED_PRECONDITION: a later timeline is known.
  absl::Status BeginLoad(uint64_t timeline);
  // Drops the contents of all partitions.
  void Unload() ABSL_LOCKS_EXCLUDED(mu_);
  // REQUIRES: there is such a partition.
  void Load(PartitionIndex index, PartitionContent content);
  // Serves what has been loaded. FAILED_PRECONDITION: a later timeline is known.
  absl::Status Serve(uint64_t timeline, const RoundsStart& rounds);

  // ---- moves ----

  // Drops a partition that another shard owns now; with partition 0, also the coordinator.
  void Leave(PartitionIndex index) ABSL_LOCKS_EXCLUDED(mu_);
  // Serves a partition that has come from another shard. FAILED_PRECONDITION: its timeline is not
  // the one that is served here.
  absl::Status Serve(PartitionIndex index, MovedPartition moved) ABSL_LOCKS_EXCLUDED(mu_);
  // Keeps a partition that has come as the backup of the pair in `standby`. The errors are those of
  // Serve.
  absl::Status Adopt(PartitionIndex index, MovedPartition moved, const ViewedStandby& standby)
      ABSL_LOCKS_EXCLUDED(mu_);

 private:
  // FAILED_PRECONDITION: the partition's timeline is not the one that is served.
  absl::Status CheckTimelineOf(PartitionIndex index, const MovedPartition& moved) const;

  ShardParts& parts_;
  absl::Mutex mu_;  // Held while a partition comes or leaves, except in a load.
};

}  // namespace capstan::ps

#endif  // CAPSTAN_PS_SHARD_SHARD_CONTENTS_H_
