#include "ps/partition/shard_metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "ps/partition/memory_budget.h"

namespace capstan::ps {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

class ShardMetricsTest : public testing::Test {
 protected:
  // The facts of a shard with one table, of which it has evicted so many rows.
  static ShardFacts FactsWithEvicted(uint64_t evicted) {
    v1::JobSpec job;
    job.add_tables()->set_name("features");
    ShardFacts facts(job);
    facts.tables[0].counters.evicted = evicted;
    return facts;
  }
  v1::ShardReport Report() const {
    v1::ShardReport report;
    metrics_.Report(report);
    return report;
  }
  static std::string Line(const std::string& series_and_value) {
    return "\n" + series_and_value + "\n";
  }

  metrics::Registry registry_;
  ShardMetrics metrics_{registry_};
};

TEST_F(ShardMetricsTest, RequestsAreCountedByTheirStatusAndTheChiefIsToldOfAll) {
  metrics_.CountRequest({.method = Method::kPull, .code = absl::StatusCode::kOk});
  metrics_.CountRequest({.method = Method::kPull, .code = absl::StatusCode::kUnauthenticated});
  metrics_.CountRequest({.method = Method::kPush,
                         .code = absl::StatusCode::kOk,
                         .request_bytes = 100,
                         .reply_bytes = 7});
  const std::string text = registry_.Text();
  EXPECT_THAT(text, HasSubstr(Line("capstan_server_pull_requests_total{code=\"OK\"} 1")));
  EXPECT_THAT(text,
              HasSubstr(Line("capstan_server_pull_requests_total{code=\"UNAUTHENTICATED\"} 1")));
  EXPECT_THAT(text, HasSubstr("{method=\"push\"} 100\n"));
  EXPECT_THAT(text, HasSubstr("{method=\"push\"} 7\n"));
  EXPECT_EQ(Report().pulls(), 2u);
  EXPECT_EQ(Report().pushes(), 1u);
}

TEST_F(ShardMetricsTest, AnOutcomeThatIsNoRefusalIsNoneAndOnlyStaleGradientsAreDropped) {
  metrics_.CountOutcome(v1::OUTCOME_APPLIED);
  metrics_.CountOutcome(v1::OUTCOME_STAGED);
  metrics_.CountOutcome(v1::OUTCOME_DROPPED);
  metrics_.CountOutcome(v1::OUTCOME_BUSY);
  metrics_.CountRejected(Rejection::kShape);
  EXPECT_EQ(Report().gradients_dropped(), 1u);
  EXPECT_EQ(Report().gradients_refused(), 1u) << "a request that was refused as a whole";
  const std::string text = registry_.Text();
  for (const Rejection reason : {Rejection::kStale, Rejection::kBusy, Rejection::kShape}) {
    EXPECT_THAT(text, HasSubstr(Line("capstan_gradients_rejected_total{reason=\"" +
                                     std::string(LabelOf(reason)) + "\"} 1")));
  }
}

TEST_F(ShardMetricsTest, TheReportHasBucketsUpToTheLastThatIsUsedAndTheHighestStaleness) {
  EXPECT_THAT(Report().staleness_counts(), ElementsAre());
  metrics_.ObserveStaleness(2, absl::Seconds(1));
  metrics_.ObserveStaleness(0, absl::Seconds(1));
  metrics_.ObserveStaleness(2, absl::Seconds(1));
  EXPECT_THAT(Report().staleness_counts(), ElementsAre(1, 0, 2));
  EXPECT_EQ(Report().max_staleness(), 2u);
  EXPECT_EQ(Report().max_row_staleness(), 0u);
  StalenessCounts rows;
  metrics_.ObserveRowStaleness(rows);
  EXPECT_THAT(Report().row_staleness_counts(), ElementsAre()) << "of no rows";
  for (const uint64_t staleness : {1, 1, 3}) rows.Add(staleness);
  metrics_.ObserveRowStaleness(rows);
  metrics_.ObserveRowStaleness(rows);
  EXPECT_THAT(Report().row_staleness_counts(), ElementsAre(0, 4, 0, 2));
  EXPECT_EQ(Report().max_row_staleness(), 3u);
  EXPECT_THAT(registry_.Text(), HasSubstr(Line("capstan_row_staleness_updates_count 6")));
}

TEST_F(ShardMetricsTest, TheHighestStalenessIsThatOfAllThreads) {
  std::vector<std::thread> threads;
  for (uint64_t thread = 0; thread < 4; ++thread) {
    threads.emplace_back([this, thread] {
      for (uint64_t i = 0; i < 1000; ++i) metrics_.ObserveStaleness(4 * i + thread, {});
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(Report().max_staleness(), 3999u);
}

// A table's count falls when a partition leaves. A counter never does.
TEST_F(ShardMetricsTest, WhatAPartitionThatHasLeftHadCountedStaysCounted) {
  metrics_.Set(FactsWithEvicted(10));
  metrics_.Set(FactsWithEvicted(15));
  EXPECT_THAT(registry_.Text(),
              HasSubstr(Line("capstan_embedding_evictions_total{table=\"features\"} 15")));
  metrics_.Set(FactsWithEvicted(4));
  metrics_.Set(FactsWithEvicted(6));
  EXPECT_THAT(registry_.Text(),
              HasSubstr(Line("capstan_embedding_evictions_total{table=\"features\"} 17")));
}

TEST_F(ShardMetricsTest, RefusalsForWantOfMemoryAreCountedOnceHoweverOftenTheyAreTold) {
  ShardFacts facts = FactsWithEvicted(0);
  ShardFacts::OfUse& moves = facts.memory[static_cast<size_t>(MemoryUse::kMoves)];
  moves = {.held = 5, .limit = 9, .refused = 3};
  metrics_.Set(facts);
  metrics_.Set(facts);
  EXPECT_THAT(registry_.Text(), HasSubstr(Line("capstan_memory_refused_requests_total{use=\"" +
                                               std::string(LabelOf(MemoryUse::kMoves)) + "\"} 3")));
}

TEST_F(ShardMetricsTest, OnlyASaveThatHasEndedWellTellsHowLongSavesTake) {
  metrics_.CountSave(/*ok=*/false, /*bytes=*/10, absl::Minutes(10));
  EXPECT_THAT(registry_.Text(),
              HasSubstr(Line("capstan_checkpoint_save_duration_seconds_count 0")));
  metrics_.CountSave(/*ok=*/true, /*bytes=*/30, absl::Seconds(2));
  const std::string text = registry_.Text();
  EXPECT_THAT(text, HasSubstr(Line("capstan_checkpoint_save_duration_seconds_count 1")));
  EXPECT_THAT(text, HasSubstr(Line("capstan_checkpoint_saves_total{result=\"failed\"} 1")));
  EXPECT_THAT(text, HasSubstr(Line("capstan_checkpoint_save_bytes_total 40")));
  EXPECT_THAT(text, HasSubstr(Line("capstan_checkpoint_loads_total{result=\"ok\"} 0")));
}

TEST_F(ShardMetricsTest, ClocksAreShownInJobsThatHaveThem) {
  ShardFacts facts = FactsWithEvicted(0);
  metrics_.Set(facts);
  EXPECT_THAT(registry_.Text(), Not(HasSubstr("capstan_clock_spread_steps")));
  facts.clocks = {.spread = 4, .trainers = 2};
  metrics_.Set(facts);
  EXPECT_THAT(registry_.Text(), HasSubstr(Line("capstan_clock_spread_steps 4")));
}

TEST_F(ShardMetricsTest, TheHottestPartitionIsThatWithMostOfTheLatestUpdates) {
  ShardFacts facts = FactsWithEvicted(0);
  facts.updates = {{3, 1000}, {5, 0}};
  metrics_.Set(facts);
  facts.updates = {{3, 1001}, {5, 3}};
  metrics_.Set(facts);
  EXPECT_THAT(registry_.Text(), HasSubstr(Line("capstan_hottest_partition 5")));
  EXPECT_THAT(registry_.Text(), HasSubstr(Line("capstan_hottest_partition_updates_ratio 0.75")));
  EXPECT_THAT(registry_.Text(), HasSubstr(Line("capstan_partitions 2")));
}

}  // namespace
}  // namespace capstan::ps
