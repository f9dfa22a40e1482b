// One partition on its way to another shard: while training goes on a copy, then what has changed
// since, again and again, until little is left; and, frozen, the rest. To its backup, which has it
// already, nothing is sent: frozen, it waits until the backup has carried out what it was told.
#ifndef CAPSTAN_PS_SHARD_MOVE_JOB_H_
#define CAPSTAN_PS_SHARD_MOVE_JOB_H_

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "capstan/base/background.h"
#include "capstan/v1/ps.pb.h"
#include "ps/shard/move_peer.h"
#include "ps/shard/pacer.h"
#include "ps/shard/partition.h"
#include "ps/shard/shard.h"
#include "ps/shard/viewed_moves.h"

namespace capstan::ps {

// SendCopy(), SendChanges() as often as one likes, Freeze(), SendRest(), in this order and never
// two at once; IsOver() and the numbers by any thread.
class MoveJob {
 public:
  // No piece is above it.
  static constexpr size_t kPieceBytes = 1 << 20;
  // What has changed is little if it is not more than that: a moment's work.
  static constexpr size_t kFewBytes = 256 << 10;
  // Without an answer to a piece, or with the answer to come again, for so long, it fails.
  static constexpr absl::Duration kPatience = absl::Seconds(60);

  struct Order {
    PartitionIndex partition{};
    uint64_t timeline = 0;
    OutgoingMove move;
  };
  // What it is carried out with.
  struct Means {
    Pacer& pacer;
    Background& background;  // Whose work it is.
    size_t piece_bytes = kPieceBytes;
  };
  // `shard` and the means must outlive it.
  MoveJob(Shard& shard, const Means& means, const Order& order);

  // CANCELLED: the move is over. FAILED_PRECONDITION: the partition is not here any more. Other
  // errors are those of the target.
  absl::Status SendCopy(MovePeer& peer);
  // Sends what has changed since what was sent last, until the target has applied it. True: what is
  // left will not get less by doing that again at once, for this was little, or more than half of
  // what it was the time before. Errors as above.
  absl::StatusOr<bool> SendChanges(MovePeer& peer);
  // Errors are those of Partition::FreezeForMove, and UNAVAILABLE, for partition 0, while a lane is
  // counted. Nothing is frozen then. Again, nothing.
  absl::Status Freeze();
  // What Freeze() has done is undone.
  void Thaw();
  // Until the target says that it has all; or, where it is the backup, has confirmed all.
  absl::Status SendRest(MovePeer& peer);

  const Order& order() const { return order_; }
  // No view names the move any more, or its timeline is over.
  bool IsOver() const;
  // Gives it up: whoever sends comes back soon.
  void Cancel() { cancelled_ = true; }
  uint64_t bytes() const { return bytes_; }                    // Sent so far,
  uint64_t bytes_expected() const { return bytes_expected_; }  // of about so many.

 private:
  enum class Kind { kCopy, kChanges, kRest };
  struct File {
    Kind kind = Kind::kCopy;
    uint32_t number = 0;  // As in move_file.h.
    std::string bytes;
    PartitionState state;
  };

  // CANCELLED: it is over.
  absl::Status Check() const;
  // The partition as it is, or what has changed since the file before.
  absl::StatusOr<File> Read(Kind kind);
  absl::Status SendFile(const File& file, MovePeer& peer);
  // Until it is taken; `applied`: and, with all before it, decoded.
  absl::Status SendPiece(v1::TakePartitionRequest piece, bool applied, MovePeer& peer);
  v1::TakePartitionRequest Piece(const File& file, size_t offset) const;
  // What the target needs beside the rest.
  void AddState(const PartitionState& state, v1::TakePartitionRequest& last) const;
  // CANCELLED: it is over.
  absl::Status WaitUntil(absl::Time until) const;
  // The target has the file, which is what changes are told against from now on; or it does not.
  absl::Status Settle(absl::Status status);
  absl::Status AwaitBackup() const;
  void Trace(std::string_view event) const;

  Shard& shard_;
  const Means means_;
  const Order order_;
  Partition& partition_;
  uint32_t files_ = 0;                           // That the target has.
  size_t last_bytes_ = 0;                        // The last of them has so many.
  std::optional<CoordinatorState> coordinator_;  // As of Freeze(),
  uint64_t told_ = 0;                            // as what its backup had been told by then.
  std::atomic<bool> cancelled_{false};
  std::atomic<uint64_t> bytes_{0};
  std::atomic<uint64_t> bytes_expected_{0};
};

}  // namespace capstan::ps

#endif  // CAPSTAN_PS_SHARD_MOVE_JOB_H_
