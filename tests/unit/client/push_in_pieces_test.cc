#include "capstan/client/push_in_pieces.h"

#include <grpcpp/impl/codegen/proto_utils.h>
#include <gtest/gtest.h>

#include <array>
#include <string>

namespace capstan {
namespace {

v1::PushPieceRequest Parsed(grpc::ByteBuffer bytes) {
  v1::PushPieceRequest piece;
  EXPECT_TRUE(grpc::SerializationTraits<v1::PushPieceRequest>::Deserialize(&bytes, &piece).ok());
  return piece;
}

TEST(PushInPiecesTest, ThePiecesInTheirOrderAreThePush) {
  std::string text;
  for (size_t i = 0; i < 2 * PushInPieces::kPieceBytes + 5; ++i) {
    text.push_back(static_cast<char>('a' + i * i % 23));
  }
  // As the transport has it: in slices that end anywhere.
  const std::array<grpc::Slice, 3> slices = {grpc::Slice(text.substr(0, 3)),
                                             grpc::Slice(text.substr(3, 5'000'000)),
                                             grpc::Slice(text.substr(5'000'003))};
  PushInPieces pieces(7, grpc::ByteBuffer(slices.data(), slices.size()));
  v1::RequestHeader header;
  header.set_trainer(4);
  std::string joined;
  size_t count = 0;
  for (; !pieces.done(); ++count) {
    const v1::PushPieceRequest piece = Parsed(pieces.Next(header, /*oldest=*/5));
    EXPECT_EQ(piece.header().trainer(), 4u);
    EXPECT_EQ(piece.push(), 7u);
    EXPECT_EQ(piece.oldest(), 5u);
    EXPECT_EQ(piece.size(), text.size());
    EXPECT_EQ(piece.offset(), joined.size());
    joined += piece.piece();
  }
  EXPECT_EQ(count, 3u);
  EXPECT_TRUE(joined == text);
}

}  // namespace
}  // namespace capstan
