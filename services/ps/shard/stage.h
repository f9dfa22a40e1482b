// A partition that is being sent to this shard: its copy, then, in order, what has changed since,
// the last of which is the rest.
#ifndef CAPSTAN_PS_SHARD_STAGE_H_
#define CAPSTAN_PS_SHARD_STAGE_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
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
  // What has been made of the files before it; the store is empty before the copy.
  DecodedPartition partition;
  std::string file;
  uint32_t number = 0;  // As in move_file.h.
  bool rest = false;
  std::vector<Reservation> reserved;  // What the file holds of the budget.

  // DATA_LOSS, FAILED_PRECONDITION: it is no such file.
  absl::Status Run(Shard& shard, const MoveName& name);
};

// Thread-compatible.
class Stage {
 public:
  explicit Stage(const MoveName& name) : name_(name) {}

  const MoveName& name() const { return name_; }

  // Takes a piece of a file, which is counted in `memory`. A piece that has been taken before
  // changes nothing. OUT_OF_RANGE: a piece before it is missing, or a file; INVALID_ARGUMENT: it
  // says otherwise than others of its file whether that is the rest; RESOURCE_EXHAUSTED: no room,
  // unless it `always_fits`; DATA_LOSS: a file is not what it says; then, and after any error of
  // its work, the stage is of no further use, and says so.
  absl::Status Take(const v1::TakePartitionRequest& piece, MemoryBudget& memory, bool always_fits);

  // The next work, if there is some and none is under way; to be given back by End.
  std::optional<StageWork> NextWork();
  void End(StageWork work, const absl::Status& status);
  void Fail(absl::Status status) { failure_.Update(std::move(status)); }

  // Whether a file is on its way of which more is to come.
  bool receiving() const { return failure_.ok() && !file_.complete(); }
  bool working() const { return working_; }
  const absl::Status& failure() const { return failure_; }
  // The file and all before it are here and decoded.
  bool HasDecoded(uint32_t file) const { return failure_.ok() && decoded_files_ > file; }
  // So is all of the partition.
  bool decoded() const { return failure_.ok() && rest_decoded_; }
  // Returns how many bytes have come, decoded or not.
  size_t bytes() const;
  // Returns what came with the last piece of the rest, without the files.
  const v1::TakePartitionRequest& state() const { return state_; }
  // REQUIRES: decoded().
  DecodedPartition TakePartition() { return std::move(partition_); }

 private:
  // Whether the piece is of the file that is being received; the next one begins with its first
  // piece.
  absl::Status Turn(const v1::TakePartitionRequest& piece);
  absl::Status Reserve(size_t bytes, MemoryBudget& memory, bool always_fits);
  void Complete(const v1::TakePartitionRequest& last);

  const MoveName name_;
  // The file that is being received, or came last.
  uint32_t number_ = 0;
  bool rest_ = false;
  ReceivedFile file_;
  std::vector<Reservation> reserved_;  // What it holds of the budget until it is decoded.
  std::deque<StageWork> whole_;        // Files that are to be decoded.
  size_t undecoded_bytes_ = 0;
  DecodedPartition partition_;
  v1::TakePartitionRequest state_;
  absl::Status failure_;
  bool working_ = false;
  uint32_t decoded_files_ = 0;
  bool rest_decoded_ = false;
};

}  // namespace capstan::ps

#endif  // CAPSTAN_PS_SHARD_STAGE_H_
