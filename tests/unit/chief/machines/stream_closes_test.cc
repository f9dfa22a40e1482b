#include "chief/machines/stream_closes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace capstan::chief {
namespace {

class StreamClosesTest : public testing::Test {
 protected:
  static v1::JobSpec JobOf(v1::PolicyKind policy, v1::Recovery recovery = v1::RECOVERY_ROLLBACK) {
    v1::JobSpec spec;
    spec.add_tables()->set_name("features");
    spec.mutable_sparse_update()->set_kind(policy);
    spec.set_recovery(recovery);
    return spec;
  }
  static v1::StreamClose Stream(uint64_t stream) {
    v1::StreamClose close;
    close.set_stream(stream);
    return close;
  }
  template <typename Closes>
  static std::vector<uint64_t> StreamsOf(const Closes& closes) {
    std::vector<uint64_t> streams;
    for (const v1::StreamClose& close : closes) streams.push_back(close.stream());
    return streams;
  }

  // All that was asked for is stored, and passed on.
  void StoreAndPassOn(StreamCloses& closes) {
    now_ += StateWriter::kLazily;
    EXPECT_TRUE(writer_.TakeDue(now_));
    writer_.OnStored(absl::OkStatus(), now_);
    closes.PassOn(/*quiet=*/false, writer_);
  }
  // The streams that shard 0, of two, is told to close now.
  std::vector<uint64_t> Sent(StreamCloses& closes) {
    v1::View view;
    for (uint32_t shard : {0u, 1u}) view.add_shards()->set_index(shard);
    closes.Send({0, 1}, absl::Seconds(1), calls_);
    for (const CallShard& call : calls_.TakeDue(view, ShardTable(0, 0), now_)) {
      if (call.shard != 0) continue;
      return StreamsOf(call.request.Get<v1::CloseStreamsRequest>().streams());
    }
    return {};
  }
  void Confirm(StreamCloses& closes, uint32_t shard) {
    calls_.Cancel<v1::CloseStreamsRequest>(shard);
    closes.OnClosed(shard);
  }

  absl::Time now_ = absl::UnixEpoch() + absl::Hours(1);
  StateWriter writer_{/*durable=*/true};
  ShardCalls calls_;
  StreamCloses closes_{JobOf(v1::POLICY_KIND_ASYNC)};
};

TEST_F(StreamClosesTest, AStreamIsClosedOnlyOnceItIsStoredThatItsTaskIsDone) {
  closes_.Add(Stream(1), writer_);
  closes_.PassOn(/*quiet=*/false, writer_);
  EXPECT_THAT(Sent(closes_), testing::IsEmpty());
  EXPECT_FALSE(closes_.complete());
  StoreAndPassOn(closes_);
  EXPECT_THAT(Sent(closes_), testing::ElementsAre(1u));
  Confirm(closes_, 0);
  EXPECT_FALSE(closes_.complete());
  Confirm(closes_, 1);
  EXPECT_TRUE(closes_.complete());
}

TEST_F(StreamClosesTest, WhatWasAddedAfterTheWriteHadBegunWaitsForTheNext) {
  closes_.Add(Stream(1), writer_);
  ASSERT_TRUE(writer_.TakeDue(now_));
  closes_.Add(Stream(2), writer_);
  writer_.OnStored(absl::OkStatus(), now_);
  closes_.PassOn(/*quiet=*/false, writer_);
  EXPECT_THAT(Sent(closes_), testing::ElementsAre(1u));
}

TEST_F(StreamClosesTest, NoneIsBegunWhilePartitionsAreAboutToChangeTheirOwner) {
  closes_.Inherit(Stream(1));
  closes_.PassOn(/*quiet=*/true, writer_);
  EXPECT_TRUE(closes_.settled()) << "nothing is under way";
  EXPECT_FALSE(closes_.complete());
  closes_.PassOn(/*quiet=*/false, writer_);
  EXPECT_THAT(Sent(closes_), testing::ElementsAre(1u)) << "an earlier chief has stored it";
}

TEST_F(StreamClosesTest, WhereEverythingWorksInRoundsNothingIsClosed) {
  StreamCloses closes(JobOf(v1::POLICY_KIND_SYNC));
  closes.Add(Stream(1), writer_);
  EXPECT_TRUE(closes.complete());
  EXPECT_THAT(closes.Unconfirmed(), testing::IsEmpty());
}

TEST_F(StreamClosesTest, AfterAReturnThoseOfTasksThatAreDoneAreClosedOnEveryShardAgain) {
  closes_.Add(Stream(1), writer_);
  closes_.Add(Stream(2), writer_);
  StoreAndPassOn(closes_);
  EXPECT_THAT(Sent(closes_), testing::ElementsAre(1u, 2u));
  Confirm(closes_, 0);
  closes_.Add(Stream(3), writer_);
  calls_.CancelAll();
  closes_.ReturnTo({}, [](const v1::StreamClose& close) { return close.stream() == 1; });
  EXPECT_THAT(StreamsOf(closes_.Unconfirmed()), testing::ElementsAre(1u));
  closes_.PassOn(/*quiet=*/false, writer_);
  EXPECT_THAT(Sent(closes_), testing::ElementsAre(1u)) << "it has loaded what it was then";
}

TEST_F(StreamClosesTest, WhatTheCheckpointMayHoldOpenIsClosedAgainThoughEveryShardHadClosedIt) {
  StreamCloses partial(JobOf(v1::POLICY_KIND_ASYNC, v1::RECOVERY_PARTIAL));
  v1::Manifest manifest;
  for (uint64_t stream : {1, 2}) *manifest.add_unclosed() = Stream(stream);
  for (StreamCloses* closes : {&closes_, &partial}) {
    closes->Add(Stream(1), writer_);
    StoreAndPassOn(*closes);
    EXPECT_THAT(Sent(*closes), testing::ElementsAre(1u));
    Confirm(*closes, 0);
    Confirm(*closes, 1);
    EXPECT_TRUE(closes->complete());
    closes->ReturnTo(manifest, [](const v1::StreamClose& close) { return close.stream() == 1; });
    closes->PassOn(/*quiet=*/false, writer_);
    EXPECT_THAT(Sent(*closes), testing::ElementsAre(1u)) << "once, and none that is not done";
    calls_.CancelAll();
  }
  EXPECT_THAT(StreamsOf(partial.log().closes()), testing::ElementsAre(1u))
      << "so one is told that comes back from it alone";
}

TEST_F(StreamClosesTest, WhatIsSentAnewGoesToThoseThatHadConfirmedItToo) {
  closes_.Inherit(Stream(1));
  closes_.PassOn(/*quiet=*/false, writer_);
  EXPECT_THAT(Sent(closes_), testing::ElementsAre(1u));
  Confirm(closes_, 0);
  EXPECT_THAT(Sent(closes_), testing::IsEmpty());
  closes_.SendAnew();
  EXPECT_THAT(Sent(closes_), testing::ElementsAre(1u));
}

TEST_F(StreamClosesTest, WhereShardsRecoverAloneACloseIsStoredUntilACheckpointHoldsIt) {
  StreamCloses partial(JobOf(v1::POLICY_KIND_ASYNC, v1::RECOVERY_PARTIAL));
  for (StreamCloses* closes : {&closes_, &partial}) {
    closes->Add(Stream(1), writer_);
    StoreAndPassOn(*closes);
    EXPECT_THAT(Sent(*closes), testing::ElementsAre(1u));
    Confirm(*closes, 0);
    Confirm(*closes, 1);
  }
  EXPECT_THAT(closes_.ToStore(), testing::IsEmpty());
  EXPECT_THAT(StreamsOf(partial.ToStore()), testing::ElementsAre(1u));
  partial.log().BeginCheckpoint(partial.Unconfirmed());
  EXPECT_THAT(partial.ToStore(), testing::SizeIs(1)) << "it may come to nothing";
  partial.log().OnCheckpointStored();
  EXPECT_THAT(partial.ToStore(), testing::IsEmpty());
}

}  // namespace
}  // namespace capstan::chief
