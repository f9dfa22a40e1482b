// What a pull takes from a shard's reply, and what it does not take for an answer.
#include "capstan/client/pull_request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "tests/unit/client/one_shard.h"

namespace capstan {
namespace {

using testing::ElementsAre;

// One partition, pulled for the keys 5 and 3 of which the rows are (50, 51) and (30, 31).
class PullRequestTest : public OneShardTest {
 protected:
  using Spoil = std::function<void(v1::PullReply&)>;

  PullRequestTest() : OneShardTest(/*partitions=*/1) {
    AnswerAndThen([](v1::PullReply&) {});
  }

  // The shard answers what is asked for, and then does this to its reply.
  void AnswerAndThen(Spoil spoil) {
    absl::MutexLock lock(&shard_.mu);
    shard_.pull = [spoil = std::move(spoil)](const v1::PullRequest& request, v1::PullReply& reply) {
      v1::PartitionValues& values = *reply.add_partitions();
      values.set_dense_version(11);
      values.set_sparse_version(12);
      std::vector<float> rows;
      const std::string& keys = request.partitions(0).tables(0).keys();
      for (size_t at = 0; at < keys.size(); at += sizeof(uint64_t)) {
        uint64_t key = 0;
        std::memcpy(&key, keys.data() + at, sizeof(key));
        for (const int column : {0, 1}) rows.push_back(static_cast<float>(10 * key + column));
      }
      values.add_tables()->set_table(4);
      values.mutable_tables(0)->set_values(Packed(rows));
      values.add_blocks()->set_values(Packed({7, 8, 9}));
      spoil(reply);
    };
  }
  absl::Status Pull() {
    float* const rows[] = {rows_.data()};
    return client_
        ->PullAll(PlanOf({5, 3}), {},
                  {.rows = rows, .dense = dense_.data(), .versions = &versions_})
        .status;
  }

  std::vector<float> rows_ = std::vector<float>(4);
  std::vector<float> dense_ = std::vector<float>(3);
  PartitionVersions versions_ = PartitionVersions(1);
};

TEST_F(PullRequestTest, RowsGoToTheirPlacesWithTheBlocksAndTheVersions) {
  ASSERT_TRUE(Pull().ok());
  EXPECT_THAT(rows_, ElementsAre(50, 51, 30, 31));
  EXPECT_THAT(dense_, ElementsAre(7, 8, 9));
  EXPECT_THAT(versions_[0], ElementsAre(11, 12));
}

TEST_F(PullRequestTest, WhatWasNotAskedForIsNoAnswer) {
  const std::vector<std::pair<const char*, Spoil>> odd = {
      {"another partition", [](auto& reply) { reply.mutable_partitions(0)->set_partition(1); }},
      {"no table", [](auto& reply) { reply.mutable_partitions(0)->clear_tables(); }},
      {"another table",
       [](auto& reply) { reply.mutable_partitions(0)->mutable_tables(0)->set_table(5); }},
      {"two tables", [](auto& reply) { reply.mutable_partitions(0)->add_tables(); }},
      {"a float too few",
       [](auto& reply) {
         reply.mutable_partitions(0)->mutable_tables(0)->mutable_values()->resize(12);
       }},
      {"no block", [](auto& reply) { reply.mutable_partitions(0)->clear_blocks(); }},
      {"another block",
       [](auto& reply) { reply.mutable_partitions(0)->mutable_blocks(0)->set_block(1); }},
      {"a longer block",
       [](auto& reply) {
         reply.mutable_partitions(0)->mutable_blocks(0)->mutable_values()->resize(16);
       }},
  };
  for (const auto& [what, spoil] : odd) {
    AnswerAndThen(spoil);
    EXPECT_EQ(Pull(), absl::InternalError("PullReply: partition 0 does not hold what was asked"))
        << what;
  }
}

TEST_F(PullRequestTest, AnotherNumberOfPartitionsIsNoAnswer) {
  AnswerAndThen([](v1::PullReply& reply) { reply.add_partitions()->set_partition(1); });
  EXPECT_EQ(Pull(), absl::InternalError("PullReply: 2 partitions, asked for 1"));
}

}  // namespace
}  // namespace capstan
