#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <map>
#include <set>

#include "absl/time/clock.h"
#include "tests/unit/client/fake_job.h"

namespace capstan {
namespace {

using testing::Each;
using testing::HasSubstr;

constexpr uint64_t kSeq = 12;
const StreamPush kName{StreamId::Session(5), kSeq, {1, 1}, kSeq};

class JobPushTest : public FakeJobTest {
 protected:
  // Gradients of a table whose values are those of its keys.
  struct Rows {
    explicit Rows(size_t count) : keys(count), values(count * kDim) {
      for (size_t i = 0; i < count; ++i) keys[i] = i;
      for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(keys[i / kDim]);
    }
    TableGradients of(const std::string& table) const { return {table, keys, values}; }
    std::vector<uint64_t> keys;
    std::vector<float> values;
  };

  // Of both shards, in the order in which each had them.
  std::vector<v1::PushRequest> Pushed() {
    std::vector<v1::PushRequest> all;
    for (FakeShard& shard : shards_) {
      absl::MutexLock lock(&shard.mu);
      all.insert(all.end(), shard.pushes.begin(), shard.pushes.end());
    }
    return all;
  }

  // How often a shard refuses a partition that it applies then.
  void Refuse(uint32_t partition, int times, v1::Outcome outcome) {
    for (FakeShard& shard : shards_) {
      absl::MutexLock lock(&shard.mu);
      shard.answer = [=, left = times](uint32_t of) mutable {
        return of == partition && left-- > 0 ? outcome : v1::OUTCOME_APPLIED;
      };
    }
  }

  static std::map<uint32_t, int> TimesByPartition(const std::vector<v1::PushRequest>& pushes) {
    std::map<uint32_t, int> times;
    for (const v1::PushRequest& push : pushes) {
      for (const v1::PartitionGradient& of : push.partitions()) ++times[of.partition()];
    }
    return times;
  }

  const Rows rows_{200};
};

TEST_F(JobPushTest, GradientsOfRowsComeWithTheirKeysUnderTheNameOfTheirSession) {
  EXPECT_EQ(*Connect()->PushRows(kName, {{rows_.of("item")}}), 1u) << "the timeline";
  std::set<uint64_t> keys;
  for (const v1::PushRequest& push : Pushed()) {
    EXPECT_EQ(push.stream().stream(), StreamId::Session(5).value);
    EXPECT_EQ(push.stream().seq(), kSeq);
    EXPECT_FALSE(push.has_stage());
    EXPECT_EQ(push.header().trainer(), 0u);
    EXPECT_EQ(push.header().clock(), 0u);
    for (const v1::PartitionGradient& of : push.partitions()) {
      EXPECT_EQ(of.sparse_version(), std::numeric_limits<uint64_t>::max()) << "it is not stale";
      for (const v1::TableGradient& table : of.tables()) {
        EXPECT_EQ(table.table(), 2u);
        for (size_t i = 0; i * sizeof(uint64_t) < table.keys().size(); ++i) {
          uint64_t key = 0;
          std::memcpy(&key, table.keys().data() + i * sizeof(key), sizeof(key));
          std::vector<float> values(kDim);
          std::memcpy(values.data(), table.values().data() + i * kDim * sizeof(float),
                      kDim * sizeof(float));
          EXPECT_THAT(values, Each(static_cast<float>(key)));
          EXPECT_TRUE(keys.insert(key).second);
        }
      }
    }
  }
  EXPECT_EQ(keys.size(), rows_.keys.size());
}

TEST_F(JobPushTest, OfATensorOnlyItsBlocksArePushed) {
  const ParameterMap map = *ParameterMap::Create(Job());
  std::vector<float> gradient(kWeights);
  for (size_t i = 0; i < gradient.size(); ++i) gradient[i] = static_cast<float>(i);
  ASSERT_TRUE(Connect()->PushTensor(kName, absl::StrCat("w", kWeights), gradient).ok());
  size_t pushed = 0;
  for (const v1::PushRequest& push : Pushed()) {
    for (const v1::PartitionGradient& of : push.partitions()) {
      for (const v1::BlockGradient& values : of.blocks()) {
        const Block& block = map.layout().block(BlockId{values.block()});
        EXPECT_EQ(block.tensor, 1u);
        float first = -1;
        std::memcpy(&first, values.values().data(), sizeof(first));
        EXPECT_EQ(first, static_cast<float>(block.offset));
        pushed += values.values().size() / sizeof(float);
      }
    }
  }
  EXPECT_EQ(pushed, kWeights);
}

TEST_F(JobPushTest, OnlyWhatIsNotSettledIsPushedAgain) {
  Refuse(/*partition=*/2, /*times=*/3, v1::OUTCOME_BUSY);
  ASSERT_TRUE(Connect()->PushRows(kName, {{rows_.of("user")}}).ok());
  EXPECT_EQ(TimesByPartition(Pushed()), (std::map<uint32_t, int>{{0, 1}, {1, 1}, {2, 4}, {3, 1}}));
}

TEST_F(JobPushTest, WhatIsNeverSettledIsTold) {
  Refuse(/*partition=*/2, /*times=*/1'000'000, v1::OUTCOME_BUSY);
  EXPECT_EQ(Connect({.pull_patience = absl::Milliseconds(300)})
                ->PushRows(kName, {{rows_.of("user")}})
                .status(),
            absl::UnavailableError(absl::StrCat(
                "chief at ", address(), ": tried for 300ms: a shard answers OUTCOME_BUSY")));
}

TEST_F(JobPushTest, AJobThatIsOverTakesNoneAndOneThatDoesNotTrainYetIsWaitedFor) {
  chief_.view.set_state(v1::JOB_STATE_COMPLETED);
  EXPECT_EQ(Connect()->PushRows(kName, {{rows_.of("user")}}).status(),
            absl::AbortedError(absl::StrCat(
                "chief at ", address(), ": the job is over: its model does not change any more")));
  chief_.view.set_state(v1::JOB_STATE_RESTORING);
  const auto patient = Connect({.pull_patience = absl::Milliseconds(300)});
  const absl::Status told = patient->PushRows(kName, {{rows_.of("user")}}).status();
  EXPECT_TRUE(absl::IsUnavailable(told));
  EXPECT_THAT(told.message(), HasSubstr("the job does not train yet"));
  EXPECT_TRUE(Pushed().empty());
}

TEST_F(JobPushTest, WhatDoesNotFitIsToldAndNotPushed) {
  const auto job = Connect();
  EXPECT_TRUE(absl::IsNotFound(job->PushRows(kName, {{rows_.of("usr")}}).status()));
  TableGradients few = rows_.of("user");
  few.values.remove_suffix(1);
  EXPECT_EQ(
      job->PushRows(kName, {{few}}).status(),
      absl::InvalidArgumentError(absl::StrCat(
          "chief at ", address(), ": table user: a gradient of 599 values, and there are 600")));
  const std::vector<float> six(6);
  const absl::Status refused = job->PushTensor(kName, "w7", six).status();
  EXPECT_TRUE(absl::IsInvalidArgument(refused));
  EXPECT_EQ(job->CheckTensor("w7", six),
            absl::InvalidArgumentError("tensor w7: a gradient of 6 values, and there are 7"));
  EXPECT_EQ(job->CheckTensor("w7", std::vector<float>(7)), absl::OkStatus());
  EXPECT_TRUE(absl::IsNotFound(job->CheckTensor("w8", six)));
  EXPECT_TRUE(Pushed().empty());
}

TEST_F(JobPushTest, APartitionThatIsOnItsWayToAnotherShardIsTriedAgainInAMoment) {
  for (FakeShard& shard : shards_) {
    absl::MutexLock lock(&shard.mu);
    shard.hint_seconds = 0.005;
  }
  Refuse(/*partition=*/0, /*times=*/20, v1::OUTCOME_BUSY);
  const auto client = Connect();
  const absl::Time begun = absl::Now();
  ASSERT_TRUE(client->PushRows(kName, {{rows_.of("item")}}).ok());
  EXPECT_LT(absl::Now() - begun, absl::Seconds(1.5)) << "not a tenth of a second each time";
}

}  // namespace
}  // namespace capstan
