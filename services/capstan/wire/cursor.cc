#include "capstan/wire/cursor.h"

#include <algorithm>

namespace capstan::wire {

Cursor::Cursor(const Message& message) : slice_(message.slices().data()), left_(message.size()) {
  if (message.slices().empty()) return;
  at_ = slice_->begin();
  end_ = slice_->end();
}

bool Cursor::Fail() {
  ok_ = false;
  left_ = 0;
  return false;
}

// REQUIRES: left_ > 0. Slices may be empty.
void Cursor::NextSlice() {
  while (at_ == end_) {
    ++slice_;
    at_ = slice_->begin();
    end_ = slice_->end();
  }
}

uint8_t Cursor::ReadByte() {
  if (left_ == 0) {
    Fail();
    return 0;
  }
  if (at_ == end_) NextSlice();
  --left_;
  return *at_++;
}

uint64_t Cursor::ReadVarint() { return ReadVarint(/*most_bytes=*/10); }

// Bits above the 64th are dropped, as protobuf does.
uint64_t Cursor::ReadVarint(int most_bytes) {
  uint64_t value = 0;
  for (int i = 0; i < most_bytes; ++i) {
    const uint8_t byte = ReadByte();
    value |= static_cast<uint64_t>(byte & 0x7F) << (7 * i);
    if ((byte & 0x80) == 0) return ok_ ? value : 0;
  }
  Fail();
  return 0;
}

size_t Cursor::ReadLength() {
  const uint64_t length = ReadVarint(kMostBytesOf32Bits);
  if (length > left_) Fail();
  return ok_ ? static_cast<size_t>(length) : 0;
}

bool Cursor::NextField(Tag& tag) {
  if (left_ == 0) return false;
  if (at_ == end_) NextSlice();
  field_ = {slice_, at_, left_};
  const auto bits = static_cast<uint32_t>(ReadVarint(kMostBytesOf32Bits));
  tag = {bits >> 3, static_cast<WireType>(bits & 7)};
  if (!ok_ || tag.field == 0 || (bits & 7) > 5) return Fail();
  return true;
}

Bytes Cursor::ReadBytes() {
  const size_t size = ReadLength();
  if (size == 0) return Bytes();
  if (at_ == end_) NextSlice();
  const Bytes bytes(slice_, at_, size);
  SkipBytes(size);
  return bytes;
}

bool Cursor::SkipBytes(size_t size) {
  if (size > left_) return Fail();
  while (size > 0) {
    if (at_ == end_) NextSlice();
    const size_t here = std::min(size, static_cast<size_t>(end_ - at_));
    at_ += here;
    left_ -= here;
    size -= here;
  }
  return true;
}

Bytes Cursor::Skip(Tag tag) {
  const Mark field = field_;
  SkipValue(tag);
  return ok_ ? Since(field) : Bytes();
}

void Cursor::SkipValue(Tag tag) {
  switch (tag.type) {
    case WireType::kVarint:
      ReadVarint();
      return;
    case WireType::kFixed64:
      SkipBytes(8);
      return;
    case WireType::kBytes:
      ReadBytes();
      return;
    case WireType::kGroup:
      SkipGroup(tag.field);
      return;
    case WireType::kFixed32:
      SkipBytes(4);
      return;
    case WireType::kEndGroup:
      Fail();
      return;
  }
}

void Cursor::SkipGroup(uint32_t field) {
  uint32_t open[kMaxGroupDepth] = {field};
  int depth = 1;
  for (Tag tag; depth > 0 && NextField(tag);) {
    if (tag.type == WireType::kEndGroup) {
      if (open[--depth] != tag.field) Fail();
    } else if (tag.type != WireType::kGroup) {
      SkipValue(tag);
    } else if (depth == kMaxGroupDepth) {
      Fail();
    } else {
      open[depth++] = tag.field;
    }
  }
  if (depth > 0) Fail();
}

size_t Cursor::Enter() {
  const size_t size = ReadLength();
  const size_t outer = left_ - size;
  left_ = size;
  return outer;
}

void Cursor::Leave(size_t outer) {
  if (ok_) left_ = outer;
}

}  // namespace capstan::wire
