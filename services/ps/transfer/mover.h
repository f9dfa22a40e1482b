// Carries out the chief's orders to send partitions to other shards, in the background, and ends
// the moves that views end.
#ifndef CAPSTAN_PS_TRANSFER_MOVER_H_
#define CAPSTAN_PS_TRANSFER_MOVER_H_

#include <array>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "capstan/base/background.h"
#include "capstan/v1/ps.pb.h"
#include "ps/shard/shard.h"
#include "ps/transfer/move_job.h"
#include "ps/transfer/move_peer.h"
#include "ps/transfer/pacer.h"

namespace capstan::ps {

// *Thread-safe*.
class Mover {
 public:
  static constexpr int kAtOnce = 2;       // Copies sent in parallel; each takes its memory twice.
  static constexpr int kRestsAtOnce = 4;  // Rests sent in parallel; they are small.

  // The threads that read and send: `gentle` for copies and changes, `hasty` for rests, during
  // which pushes have to wait.
  struct Backgrounds {
    Background& gentle;
    Background& hasty;
  };
  // `shard` and `threads` must outlive the mover. The pieces that it sends have at most
  // `piece_bytes`.
  Mover(Shard& shard, const Backgrounds& threads, PeerOpener open_peer,
        size_t piece_bytes = MoveJob::kPieceBytes)
      : shard_(shard),
        threads_(threads),
        open_peer_(std::move(open_peer)),
        means_{pacer_, threads.gentle, piece_bytes} {}
  ~Mover();  // Cancels the moves under way.

  // Begins to send the partitions of the order, or returns their state; never waits for a move. The
  // reply says `copied` once little is left to send of each partition. An order without `finish`
  // that follows such a reply makes the mover send the changes since then before it says `copied`
  // again. With `finish` the partitions are frozen once all are copied: all or none.
  // INVALID_ARGUMENT: an impossible order. UNAVAILABLE: try again, as the view does not name the
  // move yet, a checkpoint is being saved, an earlier move of a partition is ending, or (with
  // `finish`) a partition cannot be frozen now. ABORTED: the move has failed or ended; this is
  // final.
  absl::StatusOr<v1::MovePartitionsReply> Order(const v1::MovePartitionsRequest& request);

  // Follows what the shard's newest view says of moves from here: ends the moves that the view does
  // not name, unfreezes their partitions, and drops the partitions that another shard owns now.
  // Must be called after every view.
  void Follow();

 private:
  // kToCopy -> kCopying -> kBehind -> kCatchingUp -> kCopied -> kToFinish -> kFinishing -> kDone,
  // with any number of returns from kCatchingUp and kCopied to kBehind; kFailed from any phase that
  // sends.
  enum class Phase {
    kToCopy,
    kCopying,
    kBehind,
    kCatchingUp,
    kCopied,
    kToFinish,
    kFinishing,
    kDone,
    kFailed
  };
  struct Task {
    Task(Shard& shard, const MoveJob::Means& means, const MoveJob::Order& order)
        : job(shard, means, order) {}

    MoveJob job;
    Phase phase = Phase::kToCopy;
    bool told = false;  // The last reply said that all partitions are copied.
    absl::Status status = {};
    bool running() const {
      return phase == Phase::kCopying || phase == Phase::kCatchingUp || phase == Phase::kFinishing;
    }
    bool waits_for_rest() const { return phase == Phase::kToFinish; }
    bool waits_for_copy() const { return phase == Phase::kToCopy || phase == Phase::kBehind; }
  };
  struct Sender {
    bool running = false;
    std::unique_ptr<Background::Work> work;
  };
  enum class Haste { kGentle, kHasty };

  absl::Status Check(const v1::MovePartitionsRequest& request) const;
  // Returns what the view says of a partition of the order. UNAVAILABLE: the view does not name the
  // move yet; ABORTED: it does not name the move any more.
  absl::StatusOr<OutgoingMove> Named(const v1::MovePartitionsRequest& request,
                                     PartitionIndex partition) const;
  absl::Status Begin(const v1::MovePartitionsRequest& request) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // If the last reply said that all are copied, sets all back to kBehind, so that changes are sent.
  void CatchUp(const v1::MovePartitionsRequest& request) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status Freeze(const v1::MovePartitionsRequest& request) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  std::vector<Task*> TasksOf(const v1::MovePartitionsRequest& request) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::StatusOr<v1::MovePartitionsReply> AnswerOf(const v1::MovePartitionsRequest& request)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Starts idle senders as long as there is something for them to send.
  void StartSenders() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void StartSenders(Haste haste, absl::Span<Sender> senders, Background& threads)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Returns the task that a sender of this haste continues with; null if there is none.
  Task* NextToSend(Haste haste) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Send(Haste haste, Sender& sender) ABSL_LOCKS_EXCLUDED(mu_);
  // Takes an idle peer of this address, or opens one. SendOne() puts it back.
  std::unique_ptr<MovePeer> TakePeer(const std::string& address) ABSL_LOCKS_EXCLUDED(mu_);
  void SendOne(Task& task) ABSL_LOCKS_EXCLUDED(mu_);
  // Sends what the task's phase requires. Returns the next phase.
  absl::StatusOr<Phase> Carry(Task& task, MovePeer& peer) ABSL_LOCKS_EXCLUDED(mu_);
  // Forgets the tasks that have ended; if none is left, ends the moves' turn to copy.
  void ForgetOver() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Returns true if the partition has to be dropped. Otherwise unfreezes it, or makes it the
  // backup, if the view requires that.
  bool FollowPartition(PartitionIndex index, const OwnView& view);
  void Leave(PartitionIndex index);

  Shard& shard_;
  const Backgrounds threads_;
  const PeerOpener open_peer_;
  Pacer pacer_;
  const MoveJob::Means means_;
  absl::Mutex mu_;
  std::map<PartitionIndex, std::unique_ptr<Task>> tasks_ ABSL_GUARDED_BY(mu_);
  bool stopping_ ABSL_GUARDED_BY(mu_) = false;
  // By address. They stay connected, so that rests rarely wait for a handshake.
  std::multimap<std::string, std::unique_ptr<MovePeer>> idle_peers_ ABSL_GUARDED_BY(mu_);
  std::array<Sender, kAtOnce> gentle_ ABSL_GUARDED_BY(mu_);
  std::array<Sender, kRestsAtOnce> hasty_ ABSL_GUARDED_BY(mu_);
};

}  // namespace capstan::ps

#endif  // CAPSTAN_PS_TRANSFER_MOVER_H_
