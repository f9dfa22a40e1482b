// Carries out the chief's orders to save the shard's share of a checkpoint, in the background.
#ifndef CAPSTAN_PS_TRANSFER_SAVER_H_
#define CAPSTAN_PS_TRANSFER_SAVER_H_

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "capstan/v1/ps.pb.h"
#include "ps/shard/shard.h"
#include "ps/transfer/outside.h"
#include "ps/transfer/save_job.h"

namespace capstan::ps {

// *Thread-safe*.
class Saver {
 public:
  static constexpr int kNiceness = 10;  // Requests have priority over a checkpoint.
  // A save may take any time, but is given up if the store accepts no byte of it for this long.
  static constexpr absl::Duration kStill = absl::Minutes(10);

  // `shard` must outlive the saver.
  Saver(Shard& shard, Outside outside) : shard_(shard), outside_(std::move(outside)) {}
  ~Saver();  // Cancels the save under way.

  // Begins the save with the order's id or, if it has begun, returns its state; never waits for a
  // save. Another id ends the previous save. In the first answer, every partition with a
  // synchronous part is marked to be saved as it is then. ABORTED: the save has failed or was
  // replaced by a later one; this is final. UNAVAILABLE, and nothing has begun: the previous save
  // has not ended yet, or partitions are being moved. INVALID_ARGUMENT: an order without an id, or
  // with the id of a save into another folder.
  absl::StatusOr<v1::SavePartitionsReply> Order(const v1::SavePartitionsRequest& request);

 private:
  struct Save {
    v1::SavePartitionsRequest order;
    std::unique_ptr<SaveJob> job;
    std::unique_ptr<Background::Work> work = {};
    absl::Time began;
    uint64_t taken = 0;  // The value of job->taken() at the last order.
    absl::Time moved;    // When that value last changed.
    // Why the save was given up before it has ended: the answer to all further orders.
    absl::Status given_up = {};
    bool ended = false;
    absl::Status status = {};
  };

  void Begin(const v1::SavePartitionsRequest& request) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Run(SaveJob& job) ABSL_LOCKS_EXCLUDED(mu_);
  absl::StatusOr<v1::SavePartitionsReply> AnswerOf(const Save& save) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status CheckThatItMoves(Save& save) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  Shard& shard_;
  const Outside outside_;
  absl::Mutex mu_;
  std::optional<Save> save_ ABSL_GUARDED_BY(mu_);  // The present save, or the last.
  // Ids of earlier saves: a late order for one of them is refused.
  std::deque<std::string> past_ ABSL_GUARDED_BY(mu_);
};

}  // namespace capstan::ps

#endif  // CAPSTAN_PS_TRANSFER_SAVER_H_
