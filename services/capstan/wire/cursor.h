// Reads the wire form of protobuf from a Message, never outside it, whatever it holds.
#ifndef CAPSTAN_WIRE_CURSOR_H_
#define CAPSTAN_WIRE_CURSOR_H_

#include <cstddef>
#include <cstdint>

#include "capstan/wire/message.h"

namespace capstan::wire {

// The wire types of protobuf.
enum class WireType : uint32_t {
  kVarint = 0,
  kFixed64 = 1,
  kBytes = 2,
  kGroup = 3,
  kEndGroup = 4,
  kFixed32 = 5,
};

struct Tag {
  uint32_t field = 0;
  WireType type = WireType::kVarint;
};

// After the first malformed byte ok() is false for ever and nothing more is read: readers give 0
// and empty. *Thread-compatible*.
class Cursor {
 public:
  // `message` must outlive the cursor and what it returns.
  explicit Cursor(const Message& message);

  bool ok() const { return ok_; }
  // Takes the message for malformed, for a reason of the caller's.
  void Refuse() { Fail(); }
  // Returns whether the present message goes on.
  bool More() const { return left_ > 0; }

  // The next field of the present message. False at its end, or when something is wrong.
  //   for (Tag tag; cursor.NextField(tag);) ...
  bool NextField(Tag& tag);

  // The value of the field whose tag was read.
  uint64_t ReadVarint();
  Bytes ReadBytes();
  // Skips the value: an unknown field, or a known one of another wire type. Gives the whole field,
  // with its tag.
  Bytes Skip(Tag tag);

  // Enters the embedded message whose tag was read: fields are its own until Leave(outer).
  size_t Enter();
  void Leave(size_t outer);

  // Where the field begins whose tag was read. REQUIRES of Since: the message that has the field is
  // the present one again. Gives what has been read since then.
  struct Mark {
    const grpc::Slice* slice = nullptr;
    const uint8_t* at = nullptr;
    size_t left = 0;  // Bytes of the message that has the field, from there on.
  };
  Mark Field() const { return field_; }
  Bytes Since(const Mark& mark) const { return {mark.slice, mark.at, mark.left - left_}; }

 private:
  // As protobuf's own parser; of the fifth byte of a tag it drops what is above the 32nd bit.
  static constexpr int kMaxGroupDepth = 100;
  static constexpr int kMostBytesOf32Bits = 5;

  bool Fail();
  uint64_t ReadVarint(int most_bytes);
  void SkipValue(Tag tag);
  uint8_t ReadByte();
  bool SkipBytes(size_t size);
  void SkipGroup(uint32_t field);
  void NextSlice();
  size_t ReadLength();

  const grpc::Slice* slice_;
  const uint8_t* at_ = nullptr;
  const uint8_t* end_ = nullptr;
  size_t left_;  // Bytes of the present message not read yet.
  bool ok_ = true;

  Mark field_;  // Where the last tag began.
};

}  // namespace capstan::wire

#endif  // CAPSTAN_WIRE_CURSOR_H_
