// Pushes that arrive in pieces, because their share for one partition is larger than a message may
// be; and the operations for such pushes that an owner sends a backup.
#ifndef CAPSTAN_PS_SHARD_PUSH_PIECES_H_
#define CAPSTAN_PS_SHARD_PUSH_PIECES_H_

#include <grpcpp/support/byte_buffer.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "capstan/v1/ps.pb.h"
#include "ps/partition/memory_budget.h"

namespace capstan::ps {

// Assembles pushes from their pieces. *Thread-safe.*
class PushPieces {
 public:
  // If no piece of a push has arrived for this long, its sender is gone or sends the push anew.
  static constexpr absl::Duration kPatience = absl::Seconds(15);

  // What errors call a sender that names no trainer: a user's program, or the owner of a partition.
  enum class Nameless { kProgram, kOwner };

  // Incomplete pushes are counted in `memory`, which must outlive this object: each with its whole
  // size from its first piece on. A push is always accepted if there is no other. None may be
  // larger than `most_bytes`. `nameless`: what errors call a sender that names no trainer.
  PushPieces(MemoryBudget& memory, uint64_t most_bytes, Nameless nameless)
      : memory_(memory), most_bytes_(most_bytes), nameless_(nameless) {}

  // The sender of a push. All pieces of a push come over one connection.
  struct Sender {
    std::string connection;
    std::string host;
  };

  // Takes in a piece. With the last piece of a push, returns the whole push and forgets it. With
  // the first one, drops the incomplete pushes of the same trainer that are numbered below
  // piece.oldest.
  //
  // INVALID_ARGUMENT: an impossible piece, or one that names another size than the first piece of
  // its push, for which memory was reserved. UNAVAILABLE: a piece before it is missing, and the
  // push has to be sent anew. RESOURCE_EXHAUSTED: there is no memory for the push now; a host with
  // several pushes gets at most half of it.
  absl::StatusOr<std::optional<grpc::ByteBuffer>> Take(const Sender& sender,
                                                       const v1::PushPieceRequest& piece,
                                                       absl::Time now);

  // Drops the pushes of which no piece has arrived for kPatience. Must be called regularly.
  void DropSilent(absl::Time now);

 private:
  // Identifies a push: the connection, which only its two ends know; the trainer, 0: none; and the
  // sender's number of the push.
  using Name = std::tuple<std::string, uint64_t, uint64_t>;
  struct Push {
    std::string host;
    Reservation reservation;
    uint64_t size = 0;
    std::vector<grpc::Slice> slices;
    uint64_t received = 0;
    absl::Time last_piece;
  };

  // Returns a text such as "push 7 of trainer 3", or "push 7 of the owner at 10.0.0.7".
  std::string Called(const v1::PushPieceRequest& piece, const std::string& host) const;
  absl::StatusOr<Push*> Find(const Name& name, const std::string& host,
                             const v1::PushPieceRequest& piece) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // RESOURCE_EXHAUSTED: there is no memory, or none for this host.
  absl::StatusOr<Reservation> RoomFor(const std::string& host, size_t bytes)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  absl::Status CheckPiece(const v1::PushPieceRequest& piece) const;

  MemoryBudget& memory_;
  const uint64_t most_bytes_;
  const Nameless nameless_;
  absl::Mutex mu_;
  std::map<Name, Push> pushes_ ABSL_GUARDED_BY(mu_);
};

}  // namespace capstan::ps

#endif  // CAPSTAN_PS_SHARD_PUSH_PIECES_H_
