// One partition on its way to another shard: a copy while training goes on, then, frozen, what has
// changed since. To its backup, which has it already, nothing is sent: frozen, it waits until the
// backup has carried out what it was told.
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

// SendCopy(), Freeze(), SendRest(), in this order and never two at once; IsOver() and the numbers
// by any thread.
class MoveJob {
 public:
  // No piece is above it.
  static constexpr size_t kPieceBytes = 1 << 20;
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
  struct File {
    std::string bytes;
    PartitionState state;
    bool rest = false;
  };

  std::string base() const;  // What the copy is called.
  // CANCELLED: it is over.
  absl::Status Check() const;
  // The partition as it is, or what has changed since `parent`.
  absl::StatusOr<File> Read(const std::string& parent);
  absl::Status SendFile(const File& file, MovePeer& peer);
  absl::StatusOr<v1::TakePartitionReply> SendPiece(const v1::TakePartitionRequest& piece,
                                                   MovePeer& peer);
  v1::TakePartitionRequest Piece(const File& file, size_t offset) const;
  // What the target needs beside the rest.
  void AddState(const PartitionState& state, v1::TakePartitionRequest& last) const;
  // CANCELLED: it is over.
  absl::Status WaitUntil(absl::Time until) const;
  absl::Status Settle(absl::Status status, const std::string& base);
  absl::Status AwaitBackup() const;
  void Trace(std::string_view event) const;

  Shard& shard_;
  const Means means_;
  const Order order_;
  Partition& partition_;
  std::optional<CoordinatorState> coordinator_;  // As of Freeze(),
  uint64_t told_ = 0;                            // as what its backup had been told by then.
  std::atomic<bool> cancelled_{false};
  std::atomic<uint64_t> bytes_{0};
  std::atomic<uint64_t> bytes_expected_{0};
};

}  // namespace capstan::ps

#endif  // CAPSTAN_PS_SHARD_MOVE_JOB_H_
