#include "ps/partition/shard_facts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace capstan::ps {
namespace {

using testing::Pair;
using testing::UnorderedElementsAre;

v1::JobSpec JobOfTwoTables() {
  v1::JobSpec job;
  job.add_tables()->set_name("users");
  job.add_tables()->set_name("items");
  return job;
}

// A partition in which every number of the second table is ten times that of the first one.
PartitionFacts SomePartition(uint64_t version) {
  PartitionFacts facts;
  for (const uint64_t factor : {1, 10}) {
    facts.tables.push_back({.rows = 2 * factor,
                            .bytes = 3 * factor,
                            .hot_rows = 4 * factor,
                            .hot_rows_unsaved = 5 * factor,
                            .counters = {.updated = 6 * factor,
                                         .created = 7 * factor,
                                         .evicted = 8 * factor,
                                         .expired = 9 * factor,
                                         .not_admitted = 11 * factor,
                                         .refused = 12 * factor,
                                         .stale = 13 * factor}});
  }
  facts.bytes = 100;
  facts.parameters = 200;
  facts.version = version;
  facts.queued = 300;
  facts.lost = 400;
  facts.pulled_rows = 500;
  facts.pushed_rows = 600;
  facts.batches = 700;
  return facts;
}

TEST(ShardFactsTest, BeforeAnyPartitionTheTablesAreKnownByName) {
  const ShardFacts facts(JobOfTwoTables());
  ASSERT_EQ(facts.tables.size(), 2u);
  EXPECT_EQ(facts.tables[0].name, "users");
  EXPECT_EQ(facts.tables[1].name, "items");
  EXPECT_EQ(ReportOf(facts).tables_size(), 2);
  EXPECT_EQ(ReportOf(facts).partitions_size(), 0);
}

TEST(ShardFactsTest, PartitionsAreSummedButForTheVersionWhichIsTheHighest) {
  ShardFacts facts(JobOfTwoTables());
  facts.Add(PartitionIndex{3}, SomePartition(/*version=*/9));
  facts.Add(PartitionIndex{5}, SomePartition(/*version=*/7));
  EXPECT_EQ(facts.rows, 44u);
  EXPECT_EQ(facts.bytes, 200u);
  EXPECT_EQ(facts.parameters, 400u);
  EXPECT_EQ(facts.queued, 600u);
  EXPECT_EQ(facts.lost, 800u);
  EXPECT_EQ(facts.version, 9u);
  EXPECT_THAT(facts.updates, UnorderedElementsAre(Pair(3, 9 + 66), Pair(5, 7 + 66)));
  const ShardFacts::OfTable& items = facts.tables[1];
  EXPECT_EQ(items.rows, 40u);
  EXPECT_EQ(items.bytes, 60u);
  EXPECT_EQ(items.hot_rows, 80u);
  EXPECT_EQ(items.hot_rows_unsaved, 100u);
  EXPECT_EQ(items.counters.updated, 120u);
  EXPECT_EQ(items.counters.created, 140u);
  EXPECT_EQ(items.counters.evicted, 160u);
  EXPECT_EQ(items.counters.expired, 180u);
  EXPECT_EQ(items.counters.not_admitted, 220u);
  EXPECT_EQ(items.counters.refused, 240u);
  EXPECT_EQ(items.counters.stale, 260u);
}

TEST(ShardFactsTest, TheChiefIsToldOfTablesLoadsAndMemory) {
  ShardFacts facts(JobOfTwoTables());
  facts.Add(PartitionIndex{3}, SomePartition(/*version=*/9));
  facts.backup_bytes = 50;
  facts.memory[static_cast<size_t>(MemoryUse::kMoves)] = {.held = 1, .limit = 2, .refused = 3};
  const v1::ShardReport report = ReportOf(facts);
  EXPECT_EQ(report.rows(), 22u);
  EXPECT_EQ(report.parameter_bytes(), 100u);
  EXPECT_EQ(report.version(), 9u);
  EXPECT_EQ(report.batches_lost(), 400u);
  EXPECT_EQ(report.backup_bytes(), 50u);
  ASSERT_EQ(report.tables_size(), 2);
  EXPECT_EQ(report.tables(1).rows(), 20u);
  EXPECT_EQ(report.tables(1).updates(), 60u);
  EXPECT_EQ(report.tables(1).hot_rows(), 40u);
  EXPECT_EQ(report.tables(1).hot_rows_unsaved(), 50u);
  ASSERT_EQ(report.partitions_size(), 1);
  EXPECT_EQ(report.partitions(0).partition(), 3u);
  EXPECT_EQ(report.partitions(0).bytes(), 100u);
  EXPECT_EQ(report.partitions(0).pulled_rows(), 500u);
  EXPECT_EQ(report.partitions(0).pushed_rows(), 600u);
  EXPECT_EQ(report.partitions(0).batches(), 700u);
  ASSERT_EQ(static_cast<size_t>(report.memory_size()), kMemoryUses);
  const v1::MemoryReport& moves = report.memory(static_cast<int>(MemoryUse::kMoves));
  EXPECT_EQ(moves.what(), "partitions on their way here");
  EXPECT_EQ(moves.held(), 1u);
  EXPECT_EQ(moves.limit(), 2u);
  EXPECT_EQ(moves.refused(), 3u);
}

}  // namespace
}  // namespace capstan::ps
