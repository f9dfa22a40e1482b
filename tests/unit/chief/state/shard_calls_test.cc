#include "chief/state/shard_calls.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "capstan/base/wire_version.h"
#include "capstan/v1/ps.pb.h"

namespace capstan::chief {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// A view that names shards 0 and 1.
class ShardCallsTest : public ::testing::Test {
 protected:
  static constexpr absl::Duration kDeadline = absl::Seconds(5);
  static constexpr CallOptions kPlain = {.deadline = kDeadline};
  static constexpr CallOptions kRefusable = {.deadline = kDeadline, .may_be_refused = true};

  ShardCallsTest() {
    view_.mutable_epoch()->set_term(3);
    view_.set_timeline(9);
    for (uint32_t index : {0u, 1u}) {
      v1::ShardInfo& shard = *view_.add_shards();
      shard.set_index(index);
      shard.set_address("shard-" + std::to_string(index));
      shard.set_incarnation(100 + index);
    }
  }

  std::vector<CallShard> Take() { return calls_.TakeDue(view_, shards_, now_); }
  std::vector<std::string> Taken() {
    std::vector<std::string> taken;
    for (const CallShard& call : Take()) {
      taken.push_back(MethodOf(*call.request->GetDescriptor()).name() + " to " + call.address);
    }
    return taken;
  }
  // The shard refuses the call so often, each time that it comes.
  std::optional<ShardCalls::Answer> Refuse(const absl::Status& status, int times) {
    std::optional<ShardCalls::Answer> answer;
    for (int i = 0; i < times && !answer; ++i) {
      now_ += absl::Minutes(1);
      const std::vector<CallShard> calls = Take();
      if (calls.empty()) break;
      answer = calls_.OnReply(calls[0].call, status, now_);
    }
    return answer;
  }

  absl::Time now_ = absl::UnixEpoch() + absl::Hours(1);
  v1::View view_;
  ShardTable shards_{/*quorum=*/0, /*most=*/8};
  ShardCalls calls_;
};

TEST_F(ShardCallsTest, ARequestGoesOutWithTheHeaderOfTheViewToTheProcessThatItNames) {
  v1::HoldRoundsRequest hold;
  hold.set_number(7);
  calls_.Send(1, hold, kPlain);
  const std::vector<CallShard> calls = Take();
  ASSERT_THAT(calls, SizeIs(1));
  EXPECT_EQ(calls[0].shard, 1u);
  EXPECT_EQ(calls[0].address, "shard-1");
  EXPECT_EQ(calls[0].incarnation, 101u);
  EXPECT_EQ(calls[0].deadline, kDeadline);
  const auto& sent = calls[0].request.Get<v1::HoldRoundsRequest>();
  EXPECT_EQ(sent.number(), 7u);
  EXPECT_EQ(sent.header().wire_version(), kWireVersion);
  EXPECT_EQ(sent.header().epoch().term(), 3u);
  EXPECT_EQ(sent.header().timeline(), 9u);
  EXPECT_EQ(sent.header().target_incarnation(), 101u);
}

TEST_F(ShardCallsTest, CallsGoOutInTheOrderOfTheirRpcsAndThenOfTheShards) {
  calls_.Send(1, v1::CloseStreamsRequest(), kPlain);
  calls_.Send(1, v1::CommitRoundRequest(), kPlain);
  calls_.Send(0, v1::SavePartitionsRequest(), kPlain);
  calls_.Send(0, v1::CommitRoundRequest(), kPlain);
  calls_.Send(0, v1::FlushRequest(), kPlain);
  EXPECT_THAT(Taken(),
              ElementsAre("CommitRound to shard-0", "CommitRound to shard-1", "Flush to shard-0",
                          "CloseStreams to shard-1", "SavePartitions to shard-0"));
  EXPECT_THAT(Taken(), IsEmpty()) << "they are under way";
}

TEST_F(ShardCallsTest, ACallTakesThePlaceOfTheOneBeforeOfTheSameRpc) {
  calls_.Send(0, v1::FlushRequest(), kPlain);
  const CallShard first = Take().at(0);
  calls_.Send(0, v1::FlushRequest(), kPlain);
  const CallShard second = Take().at(0);
  EXPECT_FALSE(calls_.OnReply(first.call, ShardReply(v1::FlushReply()), now_));
  EXPECT_TRUE(calls_.Pending<v1::FlushRequest>(0));
  const auto answer = calls_.OnReply(second.call, ShardReply(v1::FlushReply()), now_);
  ASSERT_TRUE(answer);
  EXPECT_TRUE(answer->IsTo<v1::FlushRequest>());
  EXPECT_EQ(answer->incarnation, 100u);
  EXPECT_FALSE(calls_.Pending<v1::FlushRequest>());
}

TEST_F(ShardCallsTest, OneThatHasOnlyRegisteredIsCalledBesidesThoseThatTheViewNames) {
  v1::RegisterShardRequest registration;
  registration.set_wire_version(kWireVersion);
  registration.set_index(1);
  registration.set_address("newcomer:1");
  registration.set_incarnation(7);
  ASSERT_TRUE(shards_.Register(registration, now_).ok());
  calls_.Send(1, v1::LoadPartitionsRequest(), kRefusable);
  calls_.Send(1, v1::LoadPartitionsRequest(),
              {.deadline = kDeadline, .callee = Callee::kRegistered, .may_be_refused = true});
  const std::vector<CallShard> calls = Take();
  ASSERT_THAT(calls, SizeIs(2));
  EXPECT_EQ(calls[0].address, "shard-1");
  EXPECT_EQ(calls[1].address, "newcomer:1");
  EXPECT_EQ(calls[1].request.Get<v1::LoadPartitionsRequest>().header().target_incarnation(), 7u);
  const auto answer = calls_.OnReply(calls[1].call, ShardReply(v1::LoadPartitionsReply()), now_);
  ASSERT_TRUE(answer);
  EXPECT_TRUE(answer->IsTo<v1::LoadPartitionsRequest>(Callee::kRegistered));
  EXPECT_FALSE(answer->IsTo<v1::LoadPartitionsRequest>());
  calls_.Cancel<v1::LoadPartitionsRequest>();
  EXPECT_FALSE(calls_.Pending<v1::LoadPartitionsRequest>(1));
}

TEST_F(ShardCallsTest, AProcessThatHasComeInThePlaceOfAnotherIsCalledAtOnce) {
  calls_.Send(0, v1::FlushRequest(), kPlain);
  EXPECT_THAT(Taken(), SizeIs(1));
  view_.mutable_shards(0)->set_incarnation(200);
  EXPECT_THAT(Taken(), SizeIs(1));
}

TEST_F(ShardCallsTest, ARefusalIsTheAnswerOfACallThatMayBeRefused) {
  calls_.Send(0, v1::SavePartitionsRequest(), kRefusable);
  const auto answer = Refuse(absl::ResourceExhaustedError("full"), 1);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->reply.status(), absl::ResourceExhaustedError("full"));
}

TEST_F(ShardCallsTest, AShardThatMayNotHaveSeenTheViewIsAskedAgainForAWhile) {
  calls_.Send(0, v1::SavePartitionsRequest(), kRefusable);
  EXPECT_FALSE(Refuse(absl::FailedPreconditionError("an old view"), 9));
  EXPECT_TRUE(Refuse(absl::FailedPreconditionError("an old view"), 1));
}

TEST_F(ShardCallsTest, OneThatMayNotBeRefusedComesAgainAndWhatRefusesItIsNamed) {
  calls_.Send(0, v1::FlushRequest(), kPlain);
  EXPECT_FALSE(Refuse(absl::UnavailableError("away"), 20));
  EXPECT_TRUE(calls_.Refusal().ok()) << "to be away is no refusal";
  EXPECT_FALSE(Refuse(absl::InternalError("a bug"), 10));
  EXPECT_EQ(calls_.Refusal(), absl::InternalError("shard 0 refuses Flush: a bug"));
}

TEST_F(ShardCallsTest, OneThatHurriesComesAgainSooner) {
  calls_.Send(0, v1::FlushRequest(), kPlain);
  calls_.Send(0, v1::MovePartitionsRequest(), {.deadline = kDeadline, .hurries = true});
  const std::vector<CallShard> calls = Take();
  EXPECT_EQ(calls_.NextHurried(), absl::InfiniteFuture()) << "it is under way";
  for (const CallShard& call : calls) {
    EXPECT_FALSE(calls_.OnReply(call.call, absl::UnavailableError("away"), now_));
  }
  EXPECT_EQ(calls_.NextHurried(), now_ + absl::Milliseconds(10));
  now_ = calls_.NextHurried();
  EXPECT_THAT(Taken(), ElementsAre("MovePartitions to shard-0"));
}

TEST_F(ShardCallsTest, TellsWhatHasNotBeenAnsweredAndWhenItIsDue) {
  calls_.Send(1, v1::FlushRequest(), kPlain);
  (void)Take();
  calls_.Send(0, v1::SavePartitionsRequest(),
              {.deadline = kDeadline, .due = now_ + absl::Seconds(2)});
  calls_.Send(2, v1::LoadPartitionsRequest(),
              {.deadline = kDeadline, .callee = Callee::kRegistered});
  EXPECT_EQ(calls_.DebugString(now_),
            "Flush to 1 SavePartitions to 0 in 2s LoadPartitions to newcomer 2 in 0");
}

}  // namespace
}  // namespace capstan::chief
