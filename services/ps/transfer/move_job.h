// Sends one partition to another shard. While training goes on it sends a copy, then what has
// changed since, again and again, until little is left; then the partition is frozen, and the rest
// is sent. In a hand-over nothing is sent, as the target is the backup and has the partition
// already: the partition is frozen until the backup has carried out what it was told.
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

// Call SendCopy(), SendChanges() any number of times, Freeze(), SendRest(), in this order and never
// two at once. IsOver() and the numbers may be called by any thread.
class MoveJob {
 public:
  // No piece is larger.
  static constexpr size_t kPieceBytes = 1 << 20;
  // Changes of at most this size are little: a moment's work.
  static constexpr size_t kFewBytes = 256 << 10;
  // The job fails if the target does not take a piece, or decode the file that the piece completes,
  // for so long.
  static constexpr absl::Duration kPatience = absl::Seconds(60);

  struct Order {
    PartitionIndex partition{};
    uint64_t timeline = 0;
    OutgoingMove move;
  };
  // What the job is carried out with.
  struct Means {
    Pacer& pacer;
    Background& background;  // The job runs on a thread of it.
    size_t piece_bytes = kPieceBytes;
  };
  // `shard` and the means must outlive the job.
  MoveJob(Shard& shard, const Means& means, const Order& order);

  // Sends the copy. CANCELLED: the move is over. FAILED_PRECONDITION: the partition is not here any
  // more. Other errors are those of the target.
  absl::Status SendCopy(MovePeer& peer);
  // Sends what has changed since the file before, and waits until the target has applied it.
  // Returns true if calling this again at once would not leave less to send: this file was little,
  // or more than half as large as the one before. Errors as above.
  absl::StatusOr<bool> SendChanges(MovePeer& peer);
  // Freezes the partition, and with partition 0 silences the coordinator. Does nothing if they are
  // frozen already. Errors, after which nothing is frozen, are those of Partition::FreezeForMove,
  // and for partition 0 UNAVAILABLE while a lane is counted in the open round.
  absl::Status Freeze();
  // Undoes Freeze().
  void Thaw();
  // Sends the rest, and waits until the target has all of the partition. In a hand-over, waits
  // until the backup has carried out all that it was told. Errors as above.
  absl::Status SendRest(MovePeer& peer);

  const Order& order() const { return order_; }
  // Returns true if the newest view does not name the move, its timeline is over, or it is
  // cancelled.
  bool IsOver() const;
  // Gives the move up: a call that sends returns soon.
  void Cancel() { cancelled_ = true; }
  uint64_t bytes() const { return bytes_; }                    // Bytes sent so far,
  uint64_t bytes_expected() const { return bytes_expected_; }  // of about so many in all.

 private:
  enum class Kind { kCopy, kChanges, kRest };
  struct File {
    Kind kind = Kind::kCopy;
    uint32_t number = 0;  // As in move_file.h.
    std::string bytes;
    PartitionState state;
  };

  // CANCELLED: the move is over.
  absl::Status Check() const;
  // Reads the whole partition (kCopy), or what has changed since the file before.
  absl::StatusOr<File> Read(Kind kind);
  absl::Status SendFile(const File& file, MovePeer& peer);
  // Sends the piece until the target has taken it, and, with `applied`, until the target has
  // decoded its file and all before.
  absl::Status SendPiece(v1::TakePartitionRequest piece, bool applied, MovePeer& peer);
  v1::TakePartitionRequest Piece(const File& file, size_t offset) const;
  // Adds what the target needs beside the files to the last piece of the rest.
  void AddState(const PartitionState& state, v1::TakePartitionRequest& last) const;
  // CANCELLED: the move is over.
  absl::Status WaitUntil(absl::Time until) const;
  // `status`: OK if the target has the file that was read last; the next file then holds what has
  // changed since this one. Returns `status`.
  absl::Status Settle(absl::Status status);
  absl::Status AwaitBackup() const;
  void Trace(std::string_view event) const;

  Shard& shard_;
  const Means means_;
  const Order order_;
  Partition& partition_;
  uint32_t files_ = 0;                           // Number of files that the target has.
  size_t last_bytes_ = 0;                        // Size of the last of them.
  std::optional<CoordinatorState> coordinator_;  // Its state at Freeze().
  uint64_t told_ = 0;                            // Partition::Told() at Freeze().
  std::atomic<bool> cancelled_{false};
  std::atomic<uint64_t> bytes_{0};
  std::atomic<uint64_t> bytes_expected_{0};
};

}  // namespace capstan::ps

#endif  // CAPSTAN_PS_TRANSFER_MOVE_JOB_H_
