#include "ps/door/caller_check.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>

namespace capstan::ps {
namespace {

constexpr uint64_t kSession = uint64_t{1} << 63;

TEST(CallerCheckTest, OthersThanWorkersPullAsEvaluationsDo) {
  v1::PullRequest head;
  EXPECT_TRUE(CheckPuller(/*may_train=*/true, head).ok());
  EXPECT_TRUE(absl::IsPermissionDenied(CheckPuller(/*may_train=*/false, head)));
  head.set_evaluation(true);
  EXPECT_TRUE(CheckPuller(/*may_train=*/false, head).ok());
}

TEST(CallerCheckTest, OthersThanWorkersPushToSessionsAndNameNothingOfALease) {
  ASSERT_TRUE(StreamId{kSession}.is_session());
  const std::function<void(v1::PushRequest&)> leases[] = {
      [](v1::PushRequest& head) { head.mutable_header()->set_trainer(1); },
      [](v1::PushRequest& head) { head.mutable_header()->set_clock(1); },
      [](v1::PushRequest& head) { head.mutable_stage(); },
      [](v1::PushRequest& head) { head.mutable_stream()->set_stream(7); },
  };
  for (const auto& name : leases) {
    v1::PushRequest head;
    head.mutable_stream()->set_stream(kSession);
    EXPECT_TRUE(CheckPusher(/*may_train=*/false, head).ok());
    name(head);
    EXPECT_TRUE(absl::IsPermissionDenied(CheckPusher(/*may_train=*/false, head)));
    EXPECT_TRUE(CheckPusher(/*may_train=*/true, head).ok());
  }
}

TEST(CallerCheckTest, AShardSendsCopiesAndOperationsInItsOwnNameOnly) {
  EXPECT_TRUE(CheckSender(/*may_act=*/true, /*shard=*/3).ok());
  const absl::Status refused = CheckSender(/*may_act=*/false, /*shard=*/3);
  EXPECT_TRUE(absl::IsPermissionDenied(refused));
  EXPECT_EQ(refused.message(),
            "the certificate is of another shard than 3, in whose name the call is");
}

TEST(CallerCheckTest, APieceOfAPushIsCheckedByItsHeader) {
  v1::PushPieceRequest piece;
  EXPECT_TRUE(CheckPusher(/*may_train=*/false, piece).ok());
  piece.mutable_header()->set_trainer(1);
  EXPECT_TRUE(absl::IsPermissionDenied(CheckPusher(/*may_train=*/false, piece)));
  EXPECT_TRUE(CheckPusher(/*may_train=*/true, piece).ok());
}

}  // namespace
}  // namespace capstan::ps
