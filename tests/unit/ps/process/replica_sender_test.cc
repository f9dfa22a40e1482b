// What a shard sends to a backup, and when.
#include "ps/process/replica_sender.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/time/clock.h"
#include "capstan/base/check.h"
#include "capstan/base/clock.h"
#include "capstan/metrics/registry.h"
#include "capstan/rpc/limits.h"
#include "ps/machines/closed_log.h"
#include "ps/partition/shard_metrics.h"
#include "tests/unit/ps/process/fake_shard.h"

namespace capstan::ps {
namespace {

constexpr uint64_t kReplicated = 3;  // The timeline of the operations.
constexpr absl::Duration kSenderPatience = absl::Minutes(1);

// A shard whose partitions are backed up by `backup_`, another process on loopback.
class ReplicaSenderTest : public ::testing::Test {
 protected:
  ReplicaSenderTest() {
    v1::JobSpec job;
    job.set_job("backed-up");
    job.set_partition_count(1);
    job.set_replicas(1);
    job.mutable_sparse_update()->set_kind(v1::POLICY_KIND_ASYNC);
    job.mutable_dense_update()->set_kind(v1::POLICY_KIND_ASYNC);
    auto shard = Shard::Create(job, {ShardIndex{0}, Incarnation{7}}, metrics_, clock_);
    CAPSTAN_CHECK(shard.ok());
    shard_ = *std::move(shard);
    sender_.emplace(*shard_, /*tls=*/nullptr);
    stream_ = shard_->streams().To({backup_.address(), Incarnation{5}}, kReplicated, ClosedLog());
  }

  // The backup carries out whatever it is told.
  void CarryOutAll() {
    backup_.operations.Set([](const v1::ReplicateRequest& request, v1::ReplicateReply& reply) {
      const auto operations = static_cast<uint64_t>(request.operations_size());
      reply.set_taken(request.first() + operations - 1);
      return grpc::Status::OK;
    });
  }
  // The partition was flushed, and somebody waits until the backup has done it, too.
  void TellFlush() {
    v1::Operation operation;
    operation.mutable_flush();
    stream_->Append(std::move(operation));
    stream_->Wake();
  }
  bool HasAll() const { return *stream_->HasAll(PartitionIndex{0}, stream_->last()); }
  // Until the condition holds, while in each millisecond `passes`.
  template <typename Condition>
  void Until(const Condition& condition, absl::Duration passes = {}) {
    const absl::Time deadline = absl::Now() + kSenderPatience;
    while (!condition()) {
      ASSERT_LT(absl::Now(), deadline);
      absl::SleepFor(absl::Milliseconds(1));
      clock_.Advance(passes);
    }
  }

  FakeClock clock_;
  metrics::Registry registry_;
  ShardMetrics metrics_{registry_};
  FakeShard backup_;
  std::unique_ptr<Shard> shard_;
  std::optional<ReplicaSender> sender_;
  std::shared_ptr<ReplicaStream> stream_;
};

TEST_F(ReplicaSenderTest, WhatIsToldIsSentAndNotAgainOnceItIsCarriedOut) {
  CarryOutAll();
  TellFlush();
  Until([this] { return HasAll(); });  // No time passes.
  TellFlush();
  Until([this] { return HasAll(); });
  const auto requests = backup_.operations.requests();
  ASSERT_EQ(requests.size(), 2u);
  EXPECT_EQ(requests[0].source(), 7u);
  EXPECT_EQ(requests[0].header().timeline(), kReplicated);
  EXPECT_EQ(requests[0].header().target_incarnation(), 5u);
  EXPECT_EQ(requests[0].first(), 1u);
  EXPECT_EQ(requests[1].first(), 2u);
  EXPECT_EQ(requests[1].operations_size(), 1);
}

TEST_F(ReplicaSenderTest, ABackupThatFailsIsAskedAgainAfterAPause) {
  backup_.operations.Set([](const v1::ReplicateRequest&, v1::ReplicateReply&) {
    return grpc::Status(grpc::StatusCode::UNAVAILABLE, "not now");
  });
  const absl::Time begun = clock_.Now();
  TellFlush();
  Until([this] { return backup_.operations.requests().size() >= 4; }, absl::Milliseconds(1));
  EXPECT_GE(clock_.Now() - begun, 7 * ReplicaTurns::kFirstWait) << "2, 4 and 8 ms";
  EXPECT_FALSE(HasAll());
  CarryOutAll();
  Until([this] { return HasAll(); }, absl::Milliseconds(1));
  EXPECT_EQ(backup_.operations.requests().back().first(), 1u) << "from where nothing is taken";
}

TEST_F(ReplicaSenderTest, OneRequestIsUnderWayAtATimeAndTheSenderEndsThoughItIsNotAnswered) {
  TellFlush();
  Until([this] { return backup_.operations.requests().size() == 1; });
  TellFlush();
  // Many of the sender's turns, each of which would send the second operation.
  for (int i = 0; i < 100; ++i) {
    absl::SleepFor(absl::Milliseconds(1));
    clock_.Advance(absl::Milliseconds(10));
  }
  EXPECT_EQ(backup_.operations.requests().size(), 1u);
  sender_.reset();
  Until([this] { return backup_.operations.given_up() == 1; });
  EXPECT_FALSE(HasAll());
}

TEST_F(ReplicaSenderTest, EachBackupIsSentItsOwn) {
  FakeShard other;
  other.operations.Set([](const v1::ReplicateRequest& request, v1::ReplicateReply& reply) {
    reply.set_taken(request.first());
    return grpc::Status::OK;
  });
  const auto second =
      shard_->streams().To({other.address(), Incarnation{6}}, kReplicated, ClosedLog());
  TellFlush();  // To the first one, which does not answer.
  v1::Operation operation;
  operation.mutable_flush();
  second->Append(std::move(operation));
  second->Wake();
  Until([&second] { return *second->HasAll(PartitionIndex{0}, 1); });
  EXPECT_EQ(other.operations.requests()[0].header().target_incarnation(), 6u);
  EXPECT_FALSE(HasAll());
}

TEST_F(ReplicaSenderTest, WhatIsLargerThanAMessageComesInPiecesOneAfterTheOther) {
  constexpr int kSessions = (kMaxMessageBytes >> 3) + 1;
  backup_.operation_pieces.Set([](const v1::PushPieceRequest& piece, v1::ReplicateReply& reply) {
    if (piece.offset() + piece.piece().size() == piece.size()) reply.set_taken(1);
    return grpc::Status::OK;
  });
  v1::Operation operation;
  operation.mutable_expiry()->mutable_sparse_sessions()->Resize(kSessions, 1);
  stream_->Append(std::move(operation));
  stream_->Wake();
  Until([this] { return HasAll(); });
  EXPECT_TRUE(backup_.operations.requests().empty());
  std::string whole;
  for (const v1::PushPieceRequest& piece : backup_.operation_pieces.requests()) {
    EXPECT_EQ(piece.offset(), whole.size());
    EXPECT_EQ(piece.push(), 1u);
    EXPECT_EQ(piece.oldest(), 1u);
    EXPECT_EQ(piece.header().target_incarnation(), 5u);
    whole += piece.piece();
  }
  v1::ReplicateRequest request;
  ASSERT_TRUE(request.ParseFromString(whole));
  ASSERT_EQ(request.operations_size(), 1);
  EXPECT_EQ(request.operations(0).expiry().sparse_sessions_size(), kSessions);
}

TEST_F(ReplicaSenderTest, ABackupThatRefusesAPieceIsSentAllOfThemAgain) {
  backup_.operation_pieces.Set([](const v1::PushPieceRequest&, v1::ReplicateReply&) {
    return grpc::Status(grpc::StatusCode::RESOURCE_EXHAUSTED, "no room");
  });
  v1::Operation operation;
  operation.mutable_expiry()->mutable_sparse_sessions()->Resize((kMaxMessageBytes >> 3) + 1, 1);
  stream_->Append(std::move(operation));
  stream_->Wake();
  Until([this] { return backup_.operation_pieces.requests().size() >= 2; }, absl::Milliseconds(1));
  const auto pieces = backup_.operation_pieces.requests();
  EXPECT_EQ(pieces[0].offset(), 0u);
  EXPECT_EQ(pieces[1].offset(), 0u);
  EXPECT_NE(pieces[0].push(), pieces[1].push()) << "another number, so that both are told apart";
}

}  // namespace
}  // namespace capstan::ps
