// A push that is larger than a message may be, on its way to its shard.
#ifndef CAPSTAN_CLIENT_PUSH_IN_PIECES_H_
#define CAPSTAN_CLIENT_PUSH_IN_PIECES_H_

#include <grpcpp/support/byte_buffer.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "capstan/v1/ps.pb.h"

namespace capstan {

// Gives out the pieces one after the other: a piece may be sent when the one before it has been
// answered. Thread-compatible.
class PushInPieces {
 public:
  // Large enough that the time from one piece to the next hardly counts.
  static constexpr size_t kPieceBytes = size_t{4} << 20;

  // `push`: its number among those of the trainer. `whole`: the PushRequest, which is not empty.
  PushInPieces(uint64_t push, const grpc::ByteBuffer& whole);

  uint64_t push() const { return push_; }
  bool done() const { return offset_ == size_; }
  // The next piece, as the request that carries it. `oldest`: the lowest number of a push of the
  // trainer that is still being sent. REQUIRES: !done().
  grpc::ByteBuffer Next(const v1::RequestHeader& header, uint64_t oldest);

 private:
  const uint64_t push_;
  std::vector<grpc::Slice> slices_;
  size_t slice_ = 0;           // The first one of which something is left,
  size_t begin_in_slice_ = 0;  // from here on.
  size_t size_ = 0;
  size_t offset_ = 0;
};

}  // namespace capstan

#endif  // CAPSTAN_CLIENT_PUSH_IN_PIECES_H_
