// Sends one partition to another shard. While training continues it sends a copy, then what has
// changed since, repeatedly, until little is left; then the partition is frozen, and the rest is
// sent. In a hand-over nothing is sent, because the target is the backup and has the partition
// already: the partition is frozen until the backup has carried out all operations it was sent.
#ifndef CAPSTAN_PS_TRANSFER_MOVE_JOB_H_
#define CAPSTAN_PS_TRANSFER_MOVE_JOB_H_

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "capstan/base/background.h"
#include "capstan/v1/ps.pb.h"
#include "ps/partition/partition.h"
#include "ps/shard/own_view.h"
#include "ps/shard/shard.h"
#include "ps/transfer/move_peer.h"
#include "ps/transfer/pacer.h"

namespace capstan::ps {

// Must be used in the order SendCopy(), SendChanges() any number of times, Freeze(), SendRest(), by
// one thread at a time. IsOver() and the numbers may be called by any thread.
class MoveJob {
 public:
  // The largest size of a piece.
  static constexpr size_t kPieceBytes = 1 << 20;
  // Changes of at most this size count as little, as they are sent in a moment.
  static constexpr size_t kFewBytes = 256 << 10;
  // The job fails if for this long the target does not accept a piece, or does not decode the file
  // that the piece completes.
  static constexpr absl::Duration kPatience = absl::Seconds(60);

  struct Order {
    PartitionIndex partition{};
    uint64_t timeline = 0;
    OutgoingMove move;
  };
  // What the job uses.
  struct Means {
    Pacer& pacer;
    Background& background;  // The job runs on a thread of it.
    size_t piece_bytes = kPieceBytes;
  };
  // `shard` and what `means` refers to must outlive the job.
  MoveJob(Shard& shard, const Means& means, const Order& order);

  // Sends the copy. CANCELLED: the move has ended. FAILED_PRECONDITION: the partition is not here
  // any more. Other errors are those of the target.
  absl::Status SendCopy(MovePeer& peer);
  // Sends what has changed since the file before, and waits until the target has applied it.
  // Returns true if another call at once would not leave less to send: this file was small, or more
  // than half as large as the one before. Errors as above.
  absl::StatusOr<bool> SendChanges(MovePeer& peer);
  // Freezes the partition; with partition 0, also silences the coordinator. Does nothing if they
  // are frozen already. If it fails nothing is frozen. The errors are those of
  // Partition::FreezeForMove and, for partition 0, UNAVAILABLE while a lane is counted in the open
  // round.
  absl::Status Freeze();
  // Undoes Freeze().
  void Thaw();
  // Sends the rest, and waits until the target has all of the partition. In a hand-over, waits
  // until the backup has carried out all operations it was sent. Errors as above.
  absl::Status SendRest(MovePeer& peer);

  const Order& order() const { return order_; }
  // Returns true if the newest view does not name the move, its timeline has ended, or it was
  // cancelled.
  bool IsOver() const;
  // Gives the move up: a call that is sending returns soon.
  void Cancel() { cancelled_ = true; }
  uint64_t bytes() const { return bytes_; }  // How many bytes were sent so far.
  // Approximately how many bytes will have been sent in the end.
  uint64_t bytes_expected() const { return bytes_expected_; }

 private:
  enum class Kind { kCopy, kChanges, kRest };
  struct File {
    Kind kind = Kind::kCopy;
    uint32_t number = 0;  // See move_file.h.
    std::string bytes;
    PartitionState state;
  };

  // CANCELLED: the move has ended.
  absl::Status Check() const;
  // Reads the whole partition (kCopy), or what has changed since the file before.
  absl::StatusOr<File> Read(Kind kind);
  absl::Status SendFile(const File& file, MovePeer& peer);
  // Sends the piece until the target has accepted it and, with `applied`, until the target has
  // decoded its file and all files before.
  absl::Status SendPiece(v1::TakePartitionRequest piece, bool applied, MovePeer& peer);
  v1::TakePartitionRequest Piece(const File& file, size_t offset) const;
  // Adds what the target needs beside the files to the last piece of the rest.
  void AddState(const PartitionState& state, v1::TakePartitionRequest& last) const;
  // CANCELLED: the move has ended.
  absl::Status WaitUntil(absl::Time until) const;
  // `status` is OK if the target has the file that was read last; then the next file will contain
  // what has changed since this one. Returns `status`.
  absl::Status Settle(absl::Status status);
  absl::Status AwaitBackup() const;
  void Trace(std::string_view event) const;

  Shard& shard_;
  const Means means_;
  const Order order_;
  Partition& partition_;
  uint32_t files_ = 0;                           // How many files the target has.
  size_t last_bytes_ = 0;                        // The size of the last of them.
  std::optional<CoordinatorState> coordinator_;  // The coordinator's state at Freeze().
  uint64_t told_ = 0;                            // The value of Partition::Told() at Freeze().
  std::atomic<bool> cancelled_{false};
  std::atomic<uint64_t> bytes_{0};
  std::atomic<uint64_t> bytes_expected_{0};
};

}  // namespace capstan::ps

#endif  // CAPSTAN_PS_TRANSFER_MOVE_JOB_H_
