// What partitions and coordinators write into the trace, by which runs are replayed.
#include "ps/partition/traced.h"

#include <gmock/gmock.h>
#include <grpcpp/support/byte_buffer.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "capstan/base/check.h"
#include "tests/unit/ps/partition/trace_file.h"
#include "tests/unit/ps/shard/one_column.h"

namespace capstan::ps {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// A push of one row to each of two partitions, of a stream, if it says so.
class TracedTest : public testing::Test {
 protected:
  TracedTest() {
    v1::JobSpec job;
    job.set_job("traced");
    job.set_partition_count(2);
    job.mutable_sparse_update()->set_kind(v1::POLICY_KIND_ASYNC);
    job.mutable_dense_update()->set_kind(v1::POLICY_KIND_ASYNC);
    AddOneColumn(job);
    catalog_ = std::make_unique<Catalog>(*Catalog::Create(job));
    push_.mutable_stream()->set_stream(41);
    push_.mutable_stream()->set_seq(7);
    push_.mutable_stream()->set_low_watermark(5);
    push_.mutable_stream()->mutable_generation()->set_term(2);
    push_.mutable_stream()->mutable_generation()->set_count(9);
    for (const uint32_t partition : {0, 1}) push_.add_partitions()->set_partition(partition);
  }

  std::shared_ptr<const PushMessage> Read() const {
    const grpc::Slice slice(push_.SerializeAsString());
    auto message = PushMessage::Read(grpc::ByteBuffer(&slice, 1), *catalog_, nullptr);
    CAPSTAN_CHECK(message.ok());
    return *std::move(message);
  }
  static v1::PartitionOutcome OutcomeOf(uint32_t partition, v1::Outcome dense, v1::Outcome sparse) {
    v1::PartitionOutcome outcome;
    outcome.set_partition(partition);
    outcome.set_dense(dense);
    outcome.set_sparse(sparse);
    return outcome;
  }
  // What is written of a push to partition 1 with these outcomes.
  std::vector<std::string> PushedAs(v1::Outcome dense, v1::Outcome sparse) {
    TracePushed({Read(), 1}, OutcomeOf(1, dense, sparse));
    return trace_.News();
  }

  TraceFile trace_;
  std::unique_ptr<Catalog> catalog_;
  v1::PushRequest push_;
};

TEST_F(TracedTest, APushThatWasTakenInIsTracedWithItsLeaseAndWhetherItWasKnown) {
  const std::string pushed = R"("event":"pushed","partition":1,"push":"41:7","again":)";
  const std::string lease = R"(,"generation":"2.9","low":5})";
  for (const v1::Outcome taken : {v1::OUTCOME_APPLIED, v1::OUTCOME_QUEUED, v1::OUTCOME_DROPPED}) {
    EXPECT_THAT(PushedAs(v1::OUTCOME_UNSPECIFIED, taken), ElementsAre(pushed + "0" + lease));
    EXPECT_THAT(PushedAs(taken, v1::OUTCOME_SETTLED), ElementsAre(pushed + "0" + lease))
        << "one part had not";
  }
  EXPECT_THAT(PushedAs(v1::OUTCOME_SETTLED, v1::OUTCOME_SETTLED),
              ElementsAre(pushed + "1" + lease));
}

TEST_F(TracedTest, WhatWasNotTakenInOrIsOfNoStreamIsNotTraced) {
  EXPECT_THAT(PushedAs(v1::OUTCOME_BUSY, v1::OUTCOME_NOT_OWNER), IsEmpty());
  push_.clear_stream();
  push_.mutable_stage()->set_round(1);
  EXPECT_THAT(PushedAs(v1::OUTCOME_APPLIED, v1::OUTCOME_APPLIED), IsEmpty());
  TraceReplayed({Read(), 1}, {1, 2});
  EXPECT_THAT(trace_.News(), IsEmpty());
}

TEST_F(TracedTest, WhoHasPushedIsAnsweredForThePartitionsThatHaveTakenItIn) {
  v1::PushReply reply;
  *reply.add_partitions() = OutcomeOf(0, v1::OUTCOME_UNSPECIFIED, v1::OUTCOME_BUSY);
  *reply.add_partitions() = OutcomeOf(1, v1::OUTCOME_UNSPECIFIED, v1::OUTCOME_APPLIED);
  TraceAnswered(*Read(), reply);
  EXPECT_THAT(trace_.News(), ElementsAre(R"("event":"answered","partition":1,"push":"41:7"})"));
}

TEST_F(TracedTest, TheBackupNamesThePushAndThePair) {
  TraceReplayed({Read(), 1}, {3, 4});
  EXPECT_THAT(trace_.News(), ElementsAre(R"("event":"replayed","partition":1,"push":"41:7",)"
                                         R"("term":3,"n":4})"));
}

TEST_F(TracedTest, CopiesClosesAndLoadsAreNamedInTheWordsOfTheModels) {
  TraceCloned(PartitionIndex{1}, {3, 4}, /*delta=*/false);
  TraceCloned(PartitionIndex{1}, {3, 4}, /*delta=*/true);
  TraceMarked(PartitionIndex{0}, "c1");
  TraceShut(PartitionIndex{0}, StreamId{41}, 8);
  TraceLoaded(PartitionIndex{0}, Timeline{6}, "c1");
  EXPECT_THAT(trace_.News(),
              ElementsAre(R"("event":"cloned","partition":1,"term":3,"n":4})",
                          R"("event":"delta","partition":1,"term":3,"n":4})",
                          R"("event":"marked","partition":0,"checkpoint":"c1"})",
                          R"("event":"shut","partition":0,"stream":41,"batches":8})",
                          R"("event":"loaded","partition":0,"timeline":6,"checkpoint":"c1"})"));
}

}  // namespace
}  // namespace capstan::ps
