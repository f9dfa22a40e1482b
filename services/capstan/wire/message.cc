#include "capstan/wire/message.h"

#include <cstring>

#include "capstan/base/check.h"

namespace capstan::wire {

void Bytes::CopyTo(void* to) const {
  char* out = static_cast<char*>(to);
  ForEachPiece([&out](const uint8_t* piece, size_t size) {
    std::memcpy(out, piece, size);
    out += size;
  });
}

BytesReader::BytesReader(const Bytes& bytes)
    : slice_(bytes.slice_),
      begin_(bytes.begin_),
      left_(bytes.size_),
      here_(bytes.size_ == 0 ? 0 : bytes.InFirstSlice()) {}

void BytesReader::Read(void* to, size_t size) {
  char* out = static_cast<char*>(to);
  CAPSTAN_CHECK(size <= left_);
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
  // Fails only for a buffer that was never filled: a message of no bytes.
  if (!buffer.Valid() || !buffer.Dump(&slices_).ok()) slices_.clear();
  for (const grpc::Slice& slice : slices_) size_ += slice.size();
  if (memory == Memory::kOwn) TakeOver();
}

void Message::TakeOver() {
  own_ = std::make_unique_for_overwrite<uint8_t[]>(size_);
  uint8_t* end = own_.get();
  for (const grpc::Slice& slice : slices_) end = std::copy_n(slice.begin(), slice.size(), end);
  slices_.clear();
  slices_.emplace_back(own_.get(), size_, grpc::Slice::STATIC_SLICE);
}

const uint8_t* Message::Contiguous(const Bytes& bytes) {
  if (bytes.contiguous()) return bytes.data();
  copies_.push_back(std::make_unique_for_overwrite<uint8_t[]>(bytes.size()));
  bytes.CopyTo(copies_.back().get());
  return copies_.back().get();
}

}  // namespace capstan::wire
