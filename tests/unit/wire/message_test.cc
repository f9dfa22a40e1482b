#include "capstan/wire/message.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tests/unit/wire/samples.h"

namespace capstan::wire {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr char kText[] = "0123456789";

// `size` bytes of the message from `at` on, which lies in slice number `slice`.
Bytes Part(const Message& message, size_t slice, size_t at, size_t size) {
  const grpc::Slice& first = message.slices()[slice];
  return {&first, first.begin() + at, size};
}

TEST(BytesTest, GoOnInTheSlicesBehindThatTheyBeginIn) {
  const Message message(Cut(kText, {4, 1, 5}));
  const Bytes all = Part(message, 0, 0, 10);
  EXPECT_EQ(TextOf(all), kText);
  EXPECT_FALSE(all.contiguous());
  EXPECT_EQ(TextOf(Part(message, 0, 3, 3)), "345");
  EXPECT_TRUE(Part(message, 0, 1, 3).contiguous());
  EXPECT_FALSE(Part(message, 0, 1, 4).contiguous());
  EXPECT_EQ(TextOf(Part(message, 0, 1, 2).Prolonged(8)), "12345678");
  std::vector<size_t> pieces;
  all.ForEachPiece([&pieces](const uint8_t*, size_t size) { pieces.push_back(size); });
  EXPECT_THAT(pieces, ElementsAre(4, 1, 5));
  EXPECT_TRUE(Bytes().empty());
  EXPECT_TRUE(Bytes().contiguous());
  EXPECT_EQ(TextOf(Bytes()), "");
}

TEST(BytesTest, SharedSlicesOutliveTheMessage) {
  std::vector<grpc::Slice> shared;
  {
    const Message message(Cut(std::string(1000, 'a') + "bc", {900, 101, 1}));
    Part(message, 0, 899, 103).ShareAs(shared);
    Bytes().ShareAs(shared);
  }
  std::string text;
  for (const grpc::Slice& slice : shared) text.append(slice.begin(), slice.end());
  EXPECT_EQ(text, std::string(101, 'a') + "bc");
  EXPECT_EQ(shared.size(), 3u);
}

TEST(BytesReaderTest, ReadsAcrossSlicesAndSkipsWithinThem) {
  const Message message(Cut(kText, {4, 1, 5}));
  BytesReader reader(Part(message, 0, 1, 8));
  EXPECT_EQ(reader.contiguous(), 3u);
  EXPECT_EQ(*reader.Skip(1), '1');
  std::string text(5, '\0');
  reader.Read(text.data(), 5);
  EXPECT_EQ(text, "23456");
  EXPECT_EQ(reader.contiguous(), 2u) << "8 bytes in all, though the slice has more";
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(reader.Skip(2)), 2), "78");
  EXPECT_EQ(reader.contiguous(), 0u);
}

TEST(BytesReaderTest, NothingMayBeReadFromNothing) {
  BytesReader reader((Bytes()));
  char byte = 'x';
  reader.Read(&byte, 0);
  reader.Read(nullptr, 0);
  EXPECT_EQ(byte, 'x');
  EXPECT_EQ(reader.contiguous(), 0u);
}

TEST(BytesReaderDeathTest, MoreThanThereIsIsABug) {
  const Message message(Cut(kText, {4, 6}));
  BytesReader reader(Part(message, 0, 0, 5));
  char bytes[10];
  EXPECT_DEATH(reader.Read(bytes, 6), "size <= left_");
  EXPECT_DEATH(reader.Skip(5), "size <= contiguous");
}

TEST(MessageTest, HasTheSlicesOrItsOwnPiece) {
  const grpc::ByteBuffer buffer = Cut(kText, {4, 1, 5});
  const Message there(buffer);
  EXPECT_EQ(there.slices().size(), 3u);
  EXPECT_EQ(there.size(), 10u);
  const Message own(buffer, Message::Memory::kOwn);
  ASSERT_EQ(own.slices().size(), 1u);
  EXPECT_EQ(own.size(), 10u);
  EXPECT_EQ(TextOf(Part(own, 0, 0, 10)), kText);
}

TEST(MessageTest, ABufferThatWasNeverFilledIsAnEmptyMessage) {
  const Message empty{grpc::ByteBuffer()};
  EXPECT_EQ(empty.size(), 0u);
  EXPECT_THAT(empty.slices(), IsEmpty());
  EXPECT_EQ(Message(grpc::ByteBuffer(), Message::Memory::kOwn).size(), 0u);
}

TEST(MessageTest, BytesInOnePieceStayWhereTheyAreAndOthersAreCopied) {
  Message message(Cut(kText, {4, 1, 5}));
  const Bytes within = Part(message, 0, 1, 3);
  EXPECT_EQ(message.Contiguous(within), within.data());
  const uint8_t* const first = message.Contiguous(Part(message, 0, 2, 8));
  for (size_t size = 5; size <= 10; ++size) message.Contiguous(Part(message, 0, 0, size));
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(first), 8), "23456789")
      << "copies stay as long as the message";
}

}  // namespace
}  // namespace capstan::wire
