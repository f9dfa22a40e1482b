// What a partition answers to a pull of several tables.
#include <gmock/gmock.h>
#include <grpcpp/support/byte_buffer.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "capstan/base/check.h"
#include "capstan/metrics/registry.h"
#include "capstan/v1/ps.pb.h"
#include "ps/partition/partition.h"
#include "tests/unit/ps/shard/one_column.h"

namespace capstan::ps {
namespace {

using ::testing::ElementsAre;

constexpr Timeline kPulledIn{1};

// Tables 0, 1 and 7 of one column. The row of a key is 100 * table + key, where it is even.
class PartitionPullTest : public testing::Test {
 protected:
  static v1::JobSpec Job() {
    v1::JobSpec job;
    job.set_job("pulls");
    job.set_partition_count(1);
    job.mutable_sparse_update()->set_kind(v1::POLICY_KIND_ASYNC);
    job.mutable_dense_update()->set_kind(v1::POLICY_KIND_ASYNC);
    for (const uint32_t id : {0, 1, 7}) {
      AddOneColumn(job);
      job.mutable_tables()->rbegin()->set_id(id);
    }
    return job;
  }

  PartitionPullTest() : catalog_(*Catalog::Create(Job())) {
    auto content = InitialContent(catalog_, PartitionIndex{0}, kPulledIn, slabs_);
    CAPSTAN_CHECK(content.ok());
    for (const auto& table : content->store->tables()) {
      std::vector<uint64_t> keys;
      std::vector<float> values;
      for (uint64_t key = 0; key < 300; key += 2) {
        keys.push_back(key);
        values.push_back(-static_cast<float>(100 * Raw(table->id()) + key));
      }
      const RowGradients gradient = {.keys = keys, .values = values, .pulled = {}};
      table->Apply({&gradient, 1}, {});
    }
    partition_.Load(*std::move(content));
  }

  // Of each table that is named: its number, then the values of its rows.
  std::vector<std::vector<float>> Pull(
      const std::vector<std::pair<uint32_t, std::vector<uint64_t>>>& tables) {
    v1::PullRequest pull;
    pull.mutable_header()->set_timeline(Raw(kPulledIn));
    pull.set_dtype(v1::DTYPE_FLOAT32);
    v1::PartitionPull& part = *pull.add_partitions();
    for (const auto& [id, keys] : tables) {
      v1::TableKeys& table = *part.add_tables();
      table.set_table(id);
      table.set_keys(keys.data(), keys.size() * sizeof(uint64_t));
    }
    const grpc::Slice slice(pull.SerializeAsString());
    const auto query = PullQuery::Read(grpc::ByteBuffer(&slice, 1), catalog_);
    CAPSTAN_CHECK(query.ok());
    wire::PayloadWriter writer(wire::kPullReply, /*head=*/nullptr, (*query)->reply_shape());
    EXPECT_TRUE(partition_.Pull(**query, 0, absl::UnixEpoch(), writer).ok());
    grpc::Slice bytes;
    CAPSTAN_CHECK(writer.Finish().DumpToSingleSlice(&bytes).ok());
    v1::PullReply reply;
    CAPSTAN_CHECK(reply.ParseFromArray(bytes.begin(), static_cast<int>(bytes.size())));
    std::vector<std::vector<float>> found;
    for (const v1::TableValues& table : reply.partitions(0).tables()) {
      std::vector<float>& values = found.emplace_back(1 + table.values().size() / sizeof(float));
      values[0] = static_cast<float>(table.table());
      std::memcpy(values.data() + 1, table.values().data(), table.values().size());
    }
    return found;
  }

 private:
  metrics::Registry registry_;
  ShardMetrics metrics_{registry_};
  SlabArena slabs_;
  const Catalog catalog_;
  Rounds rounds_;
  CountedLanes counted_;
  KeptBytes kept_;
  std::atomic<size_t> put_off_{0};
  Partition partition_{PartitionIndex{0},
                       {catalog_, rounds_, counted_, metrics_, slabs_, kept_, put_off_}};
};

TEST_F(PartitionPullTest, GivesTheRowsOfEachTableInTheOrderInWhichTablesAndKeysAreNamed) {
  EXPECT_THAT(Pull({{7, {4, 2}}, {0, {2, 2, 3}}, {1, {6}}, {7, {8}}}),
              ElementsAre(ElementsAre(7, 704, 702), ElementsAre(0, 2, 2, 0), ElementsAre(1, 106),
                          ElementsAre(7, 708)));
}

TEST_F(PartitionPullTest, GivesTheSameOfALargeTableBetweenSmallOnes) {
  std::vector<uint64_t> many;
  std::vector<float> values = {1};
  for (uint64_t key = 0; key < 300; ++key) {
    many.push_back(key);
    values.push_back(key % 2 == 0 ? static_cast<float>(100 + key) : 0);
  }
  EXPECT_THAT(Pull({{0, {2}}, {1, many}, {7, {2}}}),
              ElementsAre(ElementsAre(0, 2), values, ElementsAre(7, 702)));
}

}  // namespace
}  // namespace capstan::ps
