// Whatever the network loses or repeats, each acknowledged push is in the parameters once.
#include <gtest/gtest.h>

#include <memory>
#include <thread>
#include <vector>

#include "tests/integration/shard/counting_client.h"
#include "tests/integration/shard/flaky_proxy.h"
#include "tests/integration/shard/local_shard.h"

namespace capstan {
namespace {

constexpr uint32_t kClients = 4;
constexpr uint32_t kTableRows = 200;
constexpr uint64_t kPushes = 60;

// Every cell of a column holds the number of its client's pushes.
void ExpectCounts(const std::vector<float>& cells, const std::vector<uint64_t>& pushes) {
  ASSERT_EQ(cells.size(), (kTableRows + 1) * kClients);
  for (size_t i = 0; i < cells.size(); ++i) {
    ASSERT_EQ(cells[i], static_cast<float>(pushes[i % kClients])) << "cell " << i;
  }
}

void RunClient(CountingClient& client, uint64_t pushes) {
  for (uint64_t i = 0; i < pushes; ++i) {
    const absl::Status settled = client.Push();
    ASSERT_TRUE(settled.ok()) << settled;
    if (i % 7 == 0) {
      ASSERT_TRUE(client.Repeat().ok());
    }
    if (i % 13 == 0) client.Reconnect();
  }
}

struct World {
  std::string name;
  Faults faults;
};

class ExactlyOnceTest : public testing::TestWithParam<World> {};

TEST_P(ExactlyOnceTest, EachCellIsTheNumberOfItsClientsPushes) {
  const v1::JobSpec job = SmallJob(kClients, kClients);
  LocalShards shards(job, 2);
  const v1::View direct = shards.view();
  FlakyProxy first(direct.shards(0).address(), GetParam().faults, /*seed=*/1);
  FlakyProxy second(direct.shards(1).address(), GetParam().faults, /*seed=*/2);
  shards.SetAddress(0, first.address());
  shards.SetAddress(1, second.address());

  std::vector<std::unique_ptr<CountingClient>> clients;
  std::vector<std::thread> threads;
  for (uint32_t column = 0; column < kClients; ++column) {
    clients.push_back(std::make_unique<CountingClient>(job, shards.view(), column, kTableRows));
  }
  for (uint32_t column = 0; column < kClients; ++column) {
    threads.emplace_back([&, column] { RunClient(*clients[column], kPushes + column); });
  }
  for (std::thread& thread : threads) thread.join();
  if (HasFatalFailure()) return;

  auto cells = clients[0]->Pull();
  ASSERT_TRUE(cells.ok()) << cells.status();
  ExpectCounts(*cells, {kPushes, kPushes + 1, kPushes + 2, kPushes + 3});
  if (GetParam().faults.lost_replies > 0) {
    EXPECT_GT(first.lost_replies(), 0);
    EXPECT_GT(first.lost_requests(), 0);
    EXPECT_GT(first.repeated(), 0);
    EXPECT_GT(clients[0]->retries(), 0);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Networks, ExactlyOnceTest,
    testing::Values(World{"quiet", {}},
                    World{"flaky", {.lost_requests = 10, .lost_replies = 20, .repeated = 20}}),
    [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace capstan
