// Reads the wire format of protobuf from a Message; never reads outside the Message, whatever it
// contains.
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

// After the first malformed byte ok() stays false, and nothing more is read: all functions return 0
// or empty bytes. *Thread-compatible*.
class Cursor {
 public:
  // `message` must outlive the cursor and what it returns.
  explicit Cursor(const Message& message);

  bool ok() const { return ok_; }
  // Declares the message malformed, for a reason found by the caller.
  void Refuse() { Fail(); }
  // Returns true if the present message has more bytes.
  bool More() const { return left_ > 0; }

  // Reads the tag of the next field of the present message. Returns false at its end, or if the
  // message is malformed.
  bool NextField(Tag& tag);

  // Return the value of the field whose tag was read.
  uint64_t ReadVarint();
  Bytes ReadBytes();
  // Skips the value of an unknown field, or of a known one with another wire type. Returns the
  // whole field, with its tag.
  Bytes Skip(Tag tag);

  // Enter() makes the embedded message whose tag was read the present one, until Leave() is called
  // with the result of Enter().
  size_t Enter();
  void Leave(size_t outer);

  // Field() returns the beginning of the field whose tag was read last; Since() returns what was
  // read since then. REQUIRES, for Since: the present message is the one with the field again.
  struct Mark {
    const grpc::Slice* slice = nullptr;
    const uint8_t* at = nullptr;
    size_t left = 0;  // How many bytes of that message remained, including `at`.
  };
  Mark Field() const { return field_; }
  Bytes Since(const Mark& mark) const { return {mark.slice, mark.at, mark.left - left_}; }

 private:
  // The same limits as those of protobuf's own parser; beginning with the fifth byte of a tag, that
  // drops the bits above the 32nd.
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

  Mark field_;  // Where the field of the last tag begins.
};

}  // namespace capstan::wire

#endif  // CAPSTAN_WIRE_CURSOR_H_
