#include "ps/process/shard_peer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "tests/unit/ps/process/fake_shard.h"

namespace capstan::ps {
namespace {

// Pieces for shard `other_`.
class ShardPeerTest : public ::testing::Test {
 protected:
  static v1::TakePartitionRequest Piece(const std::string& bytes) {
    v1::TakePartitionRequest request;
    request.set_partition(3);
    request.set_piece(bytes);
    return request;
  }

  FakeShard other_;
  const std::unique_ptr<MovePeer> peer_ = ShardPeerOpener(/*tls=*/nullptr)(other_.address());
};

TEST_F(ShardPeerTest, APieceIsTakenByTheOtherShardWhoseAnswerIsPassedOn) {
  other_.pieces.Set([](const v1::TakePartitionRequest& request, v1::TakePartitionReply&) {
    return request.piece() == "second" ? grpc::Status(grpc::StatusCode::OUT_OF_RANGE, "a gap")
                                       : grpc::Status::OK;
  });
  EXPECT_TRUE(peer_->Take(Piece("first"), [] { return false; }).ok());
  const absl::Status refused = peer_->Take(Piece("second"), [] { return false; }).status();
  EXPECT_TRUE(absl::IsOutOfRange(refused)) << refused;
  EXPECT_THAT(std::string(refused.message()), testing::HasSubstr("a gap"));
  ASSERT_EQ(other_.pieces.requests().size(), 2u);
  EXPECT_EQ(other_.pieces.requests()[0].partition(), 3u);
}

TEST_F(ShardPeerTest, WhoGivesUpWaitsForNoAnswer) {
  int looks = 0;
  const auto answer = peer_->Take(Piece("first"), [&] {
    return !other_.pieces.requests().empty() && ++looks > 1;  // More than once.
  });
  EXPECT_TRUE(absl::IsCancelled(answer.status())) << answer.status();
  other_.pieces.Set(
      [](const v1::TakePartitionRequest&, v1::TakePartitionReply&) { return grpc::Status::OK; });
  EXPECT_TRUE(peer_->Take(Piece("first"), [] { return false; }).ok()) << "it goes on";
}

TEST_F(ShardPeerTest, AShardThatIsNotThereIsUnavailable) {
  const std::unique_ptr<MovePeer> nobody = ShardPeerOpener(/*tls=*/nullptr)("127.0.0.1:1");
  EXPECT_TRUE(absl::IsUnavailable(nobody->Take(Piece("first"), [] { return false; }).status()));
}

}  // namespace
}  // namespace capstan::ps
