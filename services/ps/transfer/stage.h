// A partition that is being sent to this shard: files arrive in order, first the copy, then what
// has changed since the file before, and last the rest.
#ifndef CAPSTAN_PS_TRANSFER_STAGE_H_
#define CAPSTAN_PS_TRANSFER_STAGE_H_

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
#include "ps/partition/memory_budget.h"
#include "ps/shard/shard.h"
#include "ps/transfer/received_file.h"

namespace capstan::ps {

// Identifies the move of a partition.
struct MoveName {
  PartitionIndex partition{};
  Timeline timeline{};
  ViewEpoch id;
};

// Decodes a file that has arrived completely. This may take some seconds, and needs no lock.
class StageWork {
 public:
  // The partition as decoded from the files before; its store is null before the copy.
  DecodedPartition partition;
  std::string file;
  uint32_t number = 0;  // See move_file.h.
  bool rest = false;
  std::vector<Reservation> reserved;  // The file's share of the memory budget.

  // Decodes `file` into `partition`. DATA_LOSS, FAILED_PRECONDITION: the file is damaged, or does
  // not fit the job or the files before.
  absl::Status Run(Shard& shard, const MoveName& name);
};

// Thread-compatible.
class Stage {
 public:
  explicit Stage(const MoveName& name) : name_(name) {}

  const MoveName& name() const { return name_; }

  // Takes in a piece of a file, and counts it in `memory`. A piece that was taken in before has no
  // effect. OUT_OF_RANGE: a piece before this one, or a file, is missing; INVALID_ARGUMENT: the
  // pieces of a file disagree about whether it is the rest; RESOURCE_EXHAUSTED: there is no memory,
  // unless `always_fits`; DATA_LOSS: the checksum of a file is wrong. After DATA_LOSS, and after an
  // error of StageWork::Run, the stage is unusable, and answers every piece with that error.
  absl::Status Take(const v1::TakePartitionRequest& piece, MemoryBudget& memory, bool always_fits);

  // Returns the next work, if there is some and none is under way. It must be passed to End().
  std::optional<StageWork> NextWork();
  void End(StageWork work, const absl::Status& status);
  void Fail(absl::Status status) { failure_.Update(std::move(status)); }

  // Returns true if the present file is not complete.
  bool receiving() const { return failure_.ok() && !file_.complete(); }
  bool working() const { return working_; }
  // Returns true if the file and all before it have arrived and are decoded.
  bool HasDecoded(uint32_t file) const { return failure_.ok() && decoded_files_ > file; }
  // Returns true if all of the partition has arrived and is decoded.
  bool decoded() const { return failure_.ok() && rest_decoded_; }
  // Returns how many bytes have arrived, decoded or not.
  size_t bytes() const;
  // Returns the last piece of the rest without the file's bytes.
  const v1::TakePartitionRequest& state() const { return state_; }
  // REQUIRES: decoded().
  DecodedPartition TakePartition() { return std::move(partition_); }

 private:
  // Checks that the piece belongs to the file that is being received. The first piece of the next
  // file makes that the present one.
  absl::Status Turn(const v1::TakePartitionRequest& piece);
  absl::Status Reserve(size_t bytes, MemoryBudget& memory, bool always_fits);
  void Complete(const v1::TakePartitionRequest& last);

  const MoveName name_;
  // The file that is being received, or arrived last.
  uint32_t number_ = 0;
  bool rest_ = false;
  ReceivedFile file_;
  // That file's share of the memory budget until it is decoded.
  std::vector<Reservation> reserved_;
  std::deque<StageWork> whole_;  // Complete files to be decoded.
  size_t undecoded_bytes_ = 0;
  DecodedPartition partition_;
  v1::TakePartitionRequest state_;
  absl::Status failure_;
  bool working_ = false;
  uint32_t decoded_files_ = 0;
  bool rest_decoded_ = false;
};

}  // namespace capstan::ps

#endif  // CAPSTAN_PS_TRANSFER_STAGE_H_
