// Partitions that other shards are sending to this one, until a view says that they are its own.
#ifndef CAPSTAN_PS_SHARD_STAGED_PARTITIONS_H_
#define CAPSTAN_PS_SHARD_STAGED_PARTITIONS_H_

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
#include "ps/shard/byte_budget.h"
#include "ps/shard/shard.h"
#include "ps/shard/stage.h"

namespace capstan::ps {

// *Thread-safe*.
class StagedPartitions {
 public:
  // No piece may be above it.
  static constexpr size_t kMaxPieceBytes = 2 << 20;

  // Both must outlive this object.
  StagedPartitions(Shard& shard, Background& background) : shard_(shard), background_(background) {}
  ~StagedPartitions();

  // Takes a piece; says whether its file, and all before it, have come and are decoded, which goes
  // on in the background. A last piece that is sent again, be it empty, asks for that.
  // INVALID_ARGUMENT: an impossible piece; FAILED_PRECONDITION: the newest view does not name the
  // move to this process; OUT_OF_RANGE: a piece before it is missing, or a file; UNAVAILABLE: a
  // round before the partition's is not known yet; RESOURCE_EXHAUSTED: no room, later. Other errors
  // stay: DATA_LOSS, ABORTED.
  absl::StatusOr<v1::TakePartitionReply> Take(const v1::TakePartitionRequest& request);

  // Does what the shard's newest view says: serves what it gives to this process, drops what it
  // does not name. Call after every view, and after what has left has been dropped.
  void Follow();

  // The account of files that are not decoded yet. One partition always fits.
  ByteBudget& undecoded() { return shard_.memory().of(MemoryUse::kMoves); }

 private:
  struct Entry {
    explicit Entry(const MoveName& name) : stage(name) {}

    Stage stage;
    bool expected = false;                   // The shard keeps round commits for it.
    std::optional<MovedPartition> moved;     // Once all is here.
    std::unique_ptr<Background::Work> work;  // Last: it uses the others.
  };
  using Entries = std::map<PartitionIndex, std::unique_ptr<Entry>>;

  absl::Status Check(const v1::TakePartitionRequest& request) const;
  Entry& Find(const MoveName& name) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void StartWork(Entry& entry) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Work(Entry& entry, StageWork work) ABSL_LOCKS_EXCLUDED(mu_);
  // Makes of what has been decoded what can be served, once.
  absl::Status Prepare(Entry& entry) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::StatusOr<MovedPartition> MovedOf(Entry& entry) const;
  absl::Status CheckRounds(const MoveName& name, uint64_t round, const MovedPartition& moved) const;
  // Drops what is over by this view; gives what it says is to be served.
  std::vector<std::pair<PartitionIndex, MovedPartition>> TakeServed(const ViewedMoves& moves)
      ABSL_LOCKS_EXCLUDED(mu_);
  void Drop(Entries::iterator entry) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Reap() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  size_t BytesOfAll() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  Shard& shard_;
  Background& background_;
  mutable absl::Mutex mu_;
  Entries entries_ ABSL_GUARDED_BY(mu_);
  std::vector<std::unique_ptr<Entry>> dropped_ ABSL_GUARDED_BY(mu_);  // Their work may go on.
};

}  // namespace capstan::ps

#endif  // CAPSTAN_PS_SHARD_STAGED_PARTITIONS_H_
