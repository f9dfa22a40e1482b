// A partition that is being sent to this shard: its copy, then, in order, what has changed since.
#ifndef CAPSTAN_PS_SHARD_STAGE_H_
#define CAPSTAN_PS_SHARD_STAGE_H_

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "capstan/checkpoint/partition_file.h"
#include "capstan/v1/ps.pb.h"
#include "ps/shard/memory_budget.h"
#include "ps/shard/received_file.h"
#include "ps/shard/shard.h"

namespace capstan::ps {

// The name of a partition's move.
struct MoveName {
  PartitionIndex partition{};
  Timeline timeline{};
  ViewEpoch id;
};

// What is made of a file that is whole; the work of some seconds, which needs no lock.
class StageWork {
 public:
  // What has been made before it; the store is empty before the copy.
  DecodedPartition partition;
  std::string file;
  bool rest = false;

  // DATA_LOSS, FAILED_PRECONDITION: it is no such file.
  absl::Status Run(Shard& shard, const MoveName& name);
};

// Thread-compatible.
class Stage {
 public:
  explicit Stage(const MoveName& name) : name_(name) {}

  const MoveName& name() const { return name_; }

  // Takes a piece of the copy or the rest, which is counted in `memory`. A piece that has been
  // taken before changes nothing. OUT_OF_RANGE: a piece before it is missing, or the copy is;
  // RESOURCE_EXHAUSTED: no room, unless it `always_fits`; DATA_LOSS: a file is not what it says;
  // then, and after any error of its work, the stage is of no further use, and says so.
  absl::Status Take(const v1::TakePartitionRequest& piece, MemoryBudget& memory, bool always_fits);

  // The next work, if there is some and none is under way; to be given back by End.
  std::optional<StageWork> NextWork();
  void End(StageWork work, const absl::Status& status);
  void Fail(absl::Status status) { failure_.Update(std::move(status)); }

  // Whether a file is still on its way.
  bool receiving() const { return failure_.ok() && (!copy_.complete() || !rest_.complete()); }
  bool working() const { return working_; }
  const absl::Status& failure() const { return failure_; }
  // Copy and rest are here and decoded.
  bool decoded() const { return failure_.ok() && rest_applied_; }
  // Returns how many bytes have come, decoded or not.
  size_t bytes() const;
  // Returns what came with the last piece of the rest, without the files.
  const v1::TakePartitionRequest& state() const { return state_; }
  // REQUIRES: decoded().
  DecodedPartition TakePartition() { return std::move(partition_); }

 private:
  const MoveName name_;
  ReceivedFile copy_;
  ReceivedFile rest_;
  // What the files hold of the budget until they are decoded.
  std::vector<Reservation> copy_reserved_;
  std::vector<Reservation> rest_reserved_;
  DecodedPartition partition_;
  v1::TakePartitionRequest state_;
  absl::Status failure_;
  bool working_ = false;
  bool copy_decoded_ = false;
  bool rest_applied_ = false;
};

}  // namespace capstan::ps

#endif  // CAPSTAN_PS_SHARD_STAGE_H_
