#include "capstan/wire/cursor.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/unit/wire/samples.h"

namespace capstan::wire {
namespace {

// Whether a reader that skips each field comes to the end of these bytes.
bool AllIsSkipped(const std::string& bytes) {
  const Message message(Cut(bytes, {2}));
  Cursor cursor(message);
  for (Tag tag; cursor.NextField(tag);) cursor.Skip(tag);
  return cursor.ok();
}

// Groups of field 1 within each other, and their ends.
std::string Groups(int depth) { return std::string(depth, '\x0B') + std::string(depth, '\x0C'); }

TEST(CursorTest, FieldsAreReadHoweverTheMessageIsCut) {
  const std::string bytes = std::string("\x08\xAC\x02", 3) +
                            "\x12\x03"
                            "abc";
  for (size_t slice = 1; slice <= bytes.size(); ++slice) {
    const Message message(Cut(bytes, {slice}));
    Cursor cursor(message);
    Tag tag;
    ASSERT_TRUE(cursor.NextField(tag));
    EXPECT_EQ(tag.field, 1u);
    EXPECT_EQ(tag.type, WireType::kVarint);
    EXPECT_EQ(cursor.ReadVarint(), 300u);
    ASSERT_TRUE(cursor.NextField(tag));
    EXPECT_EQ(tag.field, 2u);
    EXPECT_EQ(TextOf(cursor.ReadBytes()), "abc");
    EXPECT_FALSE(cursor.NextField(tag));
    EXPECT_TRUE(cursor.ok()) << "the end is no mistake";
  }
}

TEST(CursorTest, AnEmbeddedMessageEndsWhereItsLengthSays) {
  const std::string bytes = std::string("\x0A\x02\x08\x07\x10\x09", 6);
  const Message message(Cut(bytes, {1}));
  Cursor cursor(message);
  Tag tag;
  ASSERT_TRUE(cursor.NextField(tag));
  const size_t outer = cursor.Enter();
  ASSERT_TRUE(cursor.NextField(tag));
  EXPECT_EQ(cursor.ReadVarint(), 7u);
  EXPECT_FALSE(cursor.More());
  cursor.Leave(outer);
  ASSERT_TRUE(cursor.NextField(tag));
  EXPECT_EQ(tag.field, 2u);
  EXPECT_EQ(cursor.ReadVarint(), 9u);
  EXPECT_TRUE(cursor.ok());
}

TEST(CursorTest, WhatIsSkippedIsGivenWithItsTag) {
  const std::string bytes = std::string("\x08\x07\x12\x01z", 5);
  const Message message(Cut(bytes, {1}));
  Cursor cursor(message);
  Tag tag;
  ASSERT_TRUE(cursor.NextField(tag));
  EXPECT_EQ(TextOf(cursor.Skip(tag)), bytes.substr(0, 2));
  ASSERT_TRUE(cursor.NextField(tag));
  EXPECT_EQ(TextOf(cursor.Skip(tag)), bytes.substr(2));
}

TEST(CursorTest, AMessageThatHasBeenEnteredIsGivenWithItsTag) {
  const std::string bytes = std::string("\x12\x02\x08\x07\x18\x01", 6);
  const Message message(Cut(bytes, {1}));
  Cursor cursor(message);
  Tag tag;
  ASSERT_TRUE(cursor.NextField(tag));
  const Cursor::Mark begin = cursor.Field();
  const size_t outer = cursor.Enter();
  ASSERT_TRUE(cursor.NextField(tag));
  EXPECT_EQ(cursor.ReadVarint(), 7u);
  cursor.Leave(outer);
  EXPECT_EQ(TextOf(cursor.Since(begin)), bytes.substr(0, 4));
  EXPECT_EQ(begin.left, bytes.size());
}

TEST(CursorTest, EachWireTypeIsSkipped) {
  EXPECT_TRUE(AllIsSkipped(""));
  EXPECT_TRUE(
      AllIsSkipped("\x09"
                   "12345678"))
      << "64 bits";
  EXPECT_TRUE(
      AllIsSkipped("\x0D"
                   "1234"))
      << "32 bits";
  EXPECT_TRUE(
      AllIsSkipped("\x0A\x02"
                   "ab"))
      << "bytes";
  EXPECT_TRUE(AllIsSkipped("\x0B\x10\x05\x0C")) << "a group with a field";
}

TEST(CursorTest, AMessageThatIsCutOffIsRefused) {
  EXPECT_FALSE(AllIsSkipped("\x08")) << "a number without its bytes";
  EXPECT_FALSE(AllIsSkipped("\x08\x80")) << "a number that goes on";
  EXPECT_FALSE(
      AllIsSkipped("\x09"
                   "1234567"))
      << "64 bits, and one byte is missing";
  EXPECT_FALSE(
      AllIsSkipped("\x0D"
                   "123"));
  EXPECT_FALSE(
      AllIsSkipped("\x0A\x03"
                   "ab"))
      << "fewer bytes than it says";
  EXPECT_FALSE(AllIsSkipped("\x0B\x10\x05")) << "a group without an end";
}

TEST(CursorTest, WhatIsNoFieldIsRefused) {
  EXPECT_FALSE(AllIsSkipped(std::string("\x00\x01", 2))) << "there is no field 0";
  EXPECT_FALSE(AllIsSkipped("\x0E")) << "there is no wire type 6";
  EXPECT_FALSE(AllIsSkipped("\x0C")) << "the end of no group";
  EXPECT_FALSE(AllIsSkipped("\x0B\x14")) << "the end of another group";
  EXPECT_FALSE(AllIsSkipped("\x08" + std::string(10, '\xFF') + "\x01")) << "11 bytes of a number";
}

TEST(CursorTest, GroupsMayBeHundredDeep) {
  EXPECT_TRUE(AllIsSkipped(Groups(100)));
  EXPECT_FALSE(AllIsSkipped(Groups(101)));
}

TEST(CursorTest, AfterAMistakeNothingIsRead) {
  const Message message(Cut(std::string("\x08\x07\x10\x09", 4), {4}));
  Cursor cursor(message);
  Tag tag;
  ASSERT_TRUE(cursor.NextField(tag));
  cursor.Refuse();
  EXPECT_FALSE(cursor.ok());
  EXPECT_FALSE(cursor.More());
  EXPECT_EQ(cursor.ReadVarint(), 0u);
  EXPECT_TRUE(cursor.ReadBytes().empty());
  EXPECT_FALSE(cursor.NextField(tag));
}

}  // namespace
}  // namespace capstan::wire
