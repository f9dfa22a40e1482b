// A received message as gRPC provides it: a list of slices, cut anywhere, even within a key or a
// float. Views into it copy bytes only if the caller needs contiguous bytes and they are cut.
#ifndef CAPSTAN_WIRE_MESSAGE_H_
#define CAPSTAN_WIRE_MESSAGE_H_

#include <grpcpp/support/byte_buffer.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/types/span.h"

namespace capstan::wire {

// A range of bytes of a Message, which must outlive it. *Immutable*.
class Bytes {
 public:
  Bytes() = default;
  // `size` bytes beginning at `begin`, which is in *slice; they may continue in the following
  // slices.
  Bytes(const grpc::Slice* slice, const uint8_t* begin, size_t size)
      : slice_(slice), begin_(begin), size_(size) {}

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  bool contiguous() const { return size_ == 0 || size_ <= InFirstSlice(); }
  // REQUIRES: contiguous().
  const uint8_t* data() const { return begin_; }

  // Calls visit(const uint8_t* piece, size_t size) for the pieces in order.
  template <typename Visit>
  void ForEachPiece(const Visit& visit) const;
  // Copies all size() bytes to `to`.
  void CopyTo(void* to) const;
  // Appends slices that share these bytes without a copy. The slices keep the memory of the bytes
  // alive, so the message may be destroyed.
  void ShareAs(std::vector<grpc::Slice>& slices) const;
  // Returns `size` bytes with the same beginning. REQUIRES: the message has them.
  Bytes Prolonged(size_t size) const { return {slice_, begin_, size}; }

 private:
  friend class BytesReader;
  size_t InFirstSlice() const { return static_cast<size_t>(slice_->end() - begin_); }

  const grpc::Slice* slice_ = nullptr;
  const uint8_t* begin_ = nullptr;
  size_t size_ = 0;
};

// Reads Bytes from front to back, for rows that are copied to scattered places.
// *Thread-compatible*.
class BytesReader {
 public:
  explicit BytesReader(const Bytes& bytes);
  // REQUIRES: that many bytes remain.
  void Read(void* to, size_t size);

  // How many of the next bytes are in one piece. Skip returns a pointer to the next bytes and skips
  // them. REQUIRES, for Skip: size <= contiguous().
  size_t contiguous() const { return std::min(left_, here_); }
  const uint8_t* Skip(size_t size);

 private:
  const grpc::Slice* slice_;
  const uint8_t* begin_;
  size_t left_;  // Bytes not read yet.
  size_t here_;  // Bytes from begin_ to the end of *slice_; may be more than left_.
};

// Owns the slices of one message. *Thread-compatible*. It cannot be moved, because views point into
// it.
class Message {
 public:
  // Which memory contains the message's bytes.
  enum class Memory {
    // gRPC's memory, without a copy. It counts against the server's quota as long as the Message
    // lives.
    kTransport,
    kOwn,  // Copied into one piece: for messages that live longer than their call.
  };
  explicit Message(const grpc::ByteBuffer& buffer, Memory memory = Memory::kTransport);
  Message(const Message&) = delete;
  Message& operator=(const Message&) = delete;

  absl::Span<const grpc::Slice> slices() const { return slices_; }
  size_t size() const { return size_; }

  // Returns the bytes in one piece: in place if possible, otherwise copied into memory of this
  // object.
  const uint8_t* Contiguous(const Bytes& bytes);

 private:
  void TakeOver();

  std::vector<grpc::Slice> slices_;
  size_t size_ = 0;
  std::vector<std::unique_ptr<uint8_t[]>> copies_;
};

template <typename Visit>
void Bytes::ForEachPiece(const Visit& visit) const {
  const grpc::Slice* slice = slice_;
  const uint8_t* begin = begin_;
  for (size_t left = size_; left > 0;) {
    const size_t here = std::min(left, static_cast<size_t>(slice->end() - begin));
    visit(begin, here);
    left -= here;
    if (left > 0) begin = (++slice)->begin();
  }
}

}  // namespace capstan::wire

#endif  // CAPSTAN_WIRE_MESSAGE_H_
