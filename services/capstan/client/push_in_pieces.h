// A push that is too large for one message, and is sent to its shard in pieces.
#ifndef CAPSTAN_CLIENT_PUSH_IN_PIECES_H_
#define CAPSTAN_CLIENT_PUSH_IN_PIECES_H_

#include <grpcpp/support/byte_buffer.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "capstan/v1/ps.pb.h"

namespace capstan {

// Returns the pieces one after the other: the next piece may be sent when the one before was
// answered. Thread-compatible.
class PushInPieces {
 public:
  // Large enough that the time between pieces hardly matters.
  static constexpr size_t kPieceBytes = size_t{4} << 20;

  // `push`: the number of this push among those that the trainer sends in pieces. `whole`: the
  // PushRequest, which must not be empty.
  PushInPieces(uint64_t push, const grpc::ByteBuffer& whole);

  uint64_t push() const { return push_; }
  bool done() const { return offset_ == size_; }
  // Returns the request that carries the next piece. `oldest`: the lowest number of a push that the
  // trainer is still sending in pieces. REQUIRES: !done().
  grpc::ByteBuffer Next(const v1::RequestHeader& header, uint64_t oldest);

 private:
  const uint64_t push_;
  std::vector<grpc::Slice> slices_;
  size_t slice_ = 0;           // The first slice that was not sent completely.
  size_t begin_in_slice_ = 0;  // Where its rest begins.
  size_t size_ = 0;
  size_t offset_ = 0;
};

}  // namespace capstan

#endif  // CAPSTAN_CLIENT_PUSH_IN_PIECES_H_
