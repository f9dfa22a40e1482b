#include "capstan/client/push_in_pieces.h"

#include <algorithm>
#include <string>

#include "capstan/base/check.h"
#include "capstan/rpc/event_loop.h"

namespace capstan {

PushInPieces::PushInPieces(uint64_t push, const grpc::ByteBuffer& whole)
    : push_(push), size_(whole.Length()) {
  CAPSTAN_CHECK(whole.Dump(&slices_).ok());
}

grpc::ByteBuffer PushInPieces::Next(const v1::RequestHeader& header, uint64_t oldest) {
  v1::PushPieceRequest request;
  *request.mutable_header() = header;
  request.set_push(push_);
  request.set_oldest(oldest);
  request.set_size(size_);
  request.set_offset(offset_);
  std::string& piece = *request.mutable_piece();
  const size_t end = std::min(offset_ + kPieceBytes, size_);
  piece.reserve(end - offset_);
  while (offset_ < end) {
    const grpc::Slice& slice = slices_[slice_];
    const size_t taken = std::min(slice.size() - begin_in_slice_, end - offset_);
    piece.append(reinterpret_cast<const char*>(slice.begin()) + begin_in_slice_, taken);
    offset_ += taken;
    begin_in_slice_ += taken;
    if (begin_in_slice_ < slice.size()) continue;
    ++slice_;
    begin_in_slice_ = 0;
  }
  return EventLoop::Serialize(request);
}

}  // namespace capstan
