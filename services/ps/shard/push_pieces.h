// Pushes that come in pieces, because their share for one partition is more than a message may
// hold; and what an owner tells a backup of such a push.
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

// Puts pushes together from their pieces. *Thread-safe.*
class PushPieces {
 public:
  // If no piece of a push has come for so long, its sender is gone or sends the push anew.
  static constexpr absl::Duration kPatience = absl::Seconds(15);

  // Who sends a push that names no trainer.
  enum class Nameless { kProgram, kOwner };

  // Pushes that are not complete count in `memory`, which must outlive this object: each with its
  // whole size from its first piece on. If there is no other, a push always fits. None is larger
  // than `most_bytes`. `nameless`: what errors call whoever names no trainer.
  PushPieces(MemoryBudget& memory, uint64_t most_bytes, Nameless nameless)
      : memory_(memory), most_bytes_(most_bytes), nameless_(nameless) {}

  // Who sends a push: its pieces come over one connection.
  struct Sender {
    std::string connection;
    std::string host;
  };

  // Takes a piece. With the last piece of a push, returns the whole push and forgets it. With the
  // first one, drops the incomplete pushes of the same trainer that are numbered below
  // piece.oldest.
  //
  // INVALID_ARGUMENT: an impossible piece, or one that tells another size than the first piece of
  // its push, for which room was made. UNAVAILABLE: a piece before it is missing, and the push has
  // to be sent anew. RESOURCE_EXHAUSTED: there is no room for the push now; a host with several
  // pushes gets at most half of the room.
  absl::StatusOr<std::optional<grpc::ByteBuffer>> Take(const Sender& sender,
                                                       const v1::PushPieceRequest& piece,
                                                       absl::Time now);

  // Drops the pushes of which no piece has come for kPatience. Call it now and then.
  void DropSilent(absl::Time now);

 private:
  // The connection, which nobody but its ends can name; the trainer, 0: none; the number of the
  // push among the sender's.
  using Name = std::tuple<std::string, uint64_t, uint64_t>;
  struct Push {
    std::string host;
    Reservation reservation;
    uint64_t size = 0;
    std::vector<grpc::Slice> slices;
    uint64_t received = 0;
    absl::Time last_piece;
  };

  // Returns "push 7 of trainer 3", or "push 7 of the owner at 10.0.0.7".
  std::string Called(const v1::PushPieceRequest& piece, const std::string& host) const;
  absl::StatusOr<Push*> Find(const Name& name, const std::string& host,
                             const v1::PushPieceRequest& piece) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // RESOURCE_EXHAUSTED: there is no room, or none for this host.
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
