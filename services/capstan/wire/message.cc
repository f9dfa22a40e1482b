#include "capstan/wire/message.h"

#include <cstring>
#include <utility>

#include "capstan/base/check.h"

namespace capstan::wire {

void Bytes::CopyTo(void* to) const {
  char* out = static_cast<char*>(to);
  ForEachPiece([&out](const uint8_t* piece, size_t size) {
    std::memcpy(out, piece, size);
    out += size;
  });
}

void Bytes::ShareAs(std::vector<grpc::Slice>& slices) const {
  const grpc::Slice* slice = slice_;
  const uint8_t* begin = begin_;
  for (size_t left = size_; left > 0;) {
    const size_t here = std::min(left, static_cast<size_t>(slice->end() - begin));
    const auto from = static_cast<size_t>(begin - slice->begin());
    if (here > 0) slices.push_back(slice->sub(from, from + here));
    left -= here;
    if (left > 0) begin = (++slice)->begin();
  }
}

BytesReader::BytesReader(const Bytes& bytes)
    : slice_(bytes.slice_),
      begin_(bytes.begin_),
      left_(bytes.size_),
      here_(bytes.size_ == 0 ? 0 : bytes.InFirstSlice()) {}

void BytesReader::Read(void* to, size_t size) {
  char* out = static_cast<char*>(to);
  CAPSTAN_CHECK(size <= left_);
  if (size == 0) return;  // There may be no memory to read from.
  left_ -= size;
  while (size > here_) {
    std::memcpy(out, begin_, here_);
    out += here_;
    size -= here_;
    ++slice_;
    begin_ = slice_->begin();
    here_ = slice_->size();
  }
  std::memcpy(out, begin_, size);
  begin_ += size;
  here_ -= size;
}

const uint8_t* BytesReader::Skip(size_t size) {
  CAPSTAN_CHECK(size <= contiguous());
  const uint8_t* const begin = begin_;
  begin_ += size;
  left_ -= size;
  here_ -= size;
  return begin;
}

Message::Message(const grpc::ByteBuffer& buffer, Memory memory) {
  // Dump() fails only for a buffer that was never filled, which counts as an empty message.
  if (!buffer.Valid() || !buffer.Dump(&slices_).ok()) slices_.clear();
  for (const grpc::Slice& slice : slices_) size_ += slice.size();
  if (memory == Memory::kOwn) TakeOver();
}

void Message::TakeOver() {
  std::vector<grpc::Slice> own;
  own.emplace_back(size_);
  // The slice may be written, because nobody else has a reference to it yet.
  uint8_t* end = const_cast<uint8_t*>(own.front().begin());
  for (const grpc::Slice& slice : slices_) end = std::copy_n(slice.begin(), slice.size(), end);
  slices_ = std::move(own);
}

const uint8_t* Message::Contiguous(const Bytes& bytes) {
  if (bytes.contiguous()) return bytes.data();
  copies_.push_back(std::make_unique_for_overwrite<uint8_t[]>(bytes.size()));
  bytes.CopyTo(copies_.back().get());
  return copies_.back().get();
}

}  // namespace capstan::wire
