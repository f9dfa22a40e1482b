// The partitions that other shards are sending to this shard, until a view makes it their owner.
#ifndef CAPSTAN_PS_TRANSFER_STAGED_PARTITIONS_H_
#define CAPSTAN_PS_TRANSFER_STAGED_PARTITIONS_H_

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "capstan/base/background.h"
#include "capstan/v1/ps.pb.h"
#include "ps/shard/shard.h"
#include "ps/transfer/stage.h"

namespace capstan::ps {

// Files that are not decoded yet are counted as MemoryUse::kMoves of the shard. One partition is
// always accepted regardless of that: the one that was received while there was no other, until its
// present file has arrived completely or it is dropped.
//
// *Thread-safe*.
class StagedPartitions {
 public:
  // The largest accepted size of a piece.
  static constexpr size_t kMaxPieceBytes = 2 << 20;

  // Both must outlive this object.
  StagedPartitions(Shard& shard, Background& background) : shard_(shard), background_(background) {}
  ~StagedPartitions();

  // Takes in a piece. The reply says whether the piece's file and all before it have arrived and
  // are decoded. Decoding goes on in the background, so the sender asks again by repeating the last
  // piece, with or without its bytes. INVALID_ARGUMENT: an impossible piece; FAILED_PRECONDITION:
  // the newest view does not name this move to this process; OUT_OF_RANGE: a piece before this one,
  // or a file, is missing; UNAVAILABLE: a round before the one that the partition has passed is not
  // known here yet; RESOURCE_EXHAUSTED: there is no memory now. DATA_LOSS and ABORTED end the move.
  absl::StatusOr<v1::TakePartitionReply> Take(const v1::TakePartitionRequest& request);

  // Serves the partitions that the shard's newest view gives to this process, and drops those that
  // it does not name. Must be called after every view, when Mover::Follow has dropped the
  // partitions that have left.
  void Follow();

 private:
  struct Entry {
    explicit Entry(const MoveName& name) : stage(name) {}

    Stage stage;
    // RoundFollower::Expect has been called: round commits are kept for the partition.
    bool expected = false;
    std::optional<MovedPartition> moved;     // Set once all of the partition is here.
    std::unique_ptr<Background::Work> work;  // Last: it uses the others.
  };
  using Entries = std::map<PartitionIndex, std::unique_ptr<Entry>>;

  absl::Status Check(const v1::TakePartitionRequest& request) const;
  Entry& Find(const MoveName& name) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void StartWork(Entry& entry) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Work(Entry& entry, StageWork work) ABSL_LOCKS_EXCLUDED(mu_);
  // Once per partition: builds a partition that can be served from what has been decoded, and has
  // the shard expect it.
  absl::Status Prepare(Entry& entry) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::StatusOr<MovedPartition> MovedOf(Entry& entry) const;
  absl::Status CheckRounds(const MoveName& name, uint64_t round, const MovedPartition& moved) const;
  // Drops the entries whose move has ended in this view. Returns the partitions that the view gives
  // to this process.
  std::vector<std::pair<PartitionIndex, MovedPartition>> TakeServed(const OwnView& view)
      ABSL_LOCKS_EXCLUDED(mu_);
  void Drop(Entries::iterator entry) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Reap() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  size_t BytesOfAll() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  Shard& shard_;
  Background& background_;
  mutable absl::Mutex mu_;
  Entries entries_ ABSL_GUARDED_BY(mu_);
  // The entry that is always accepted, one of entries_; null if there is none.
  Entry* first_ ABSL_GUARDED_BY(mu_) = nullptr;
  // Dropped entries whose work may be under way.
  std::vector<std::unique_ptr<Entry>> dropped_ ABSL_GUARDED_BY(mu_);
};

}  // namespace capstan::ps

#endif  // CAPSTAN_PS_TRANSFER_STAGED_PARTITIONS_H_
