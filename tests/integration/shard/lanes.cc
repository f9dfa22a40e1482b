#include "tests/integration/shard/lanes.h"

#include <gtest/gtest.h>

namespace capstan {

Lanes::Lanes(LocalShards& shards) : shards_(shards) {
  for (int lane = 0; lane < kLanes; ++lane) runners_.emplace_back(shards, lane);
}

void Lanes::Train(int rounds) {
  for (int i = 0; i < rounds; ++i, ++trained_) {
    const auto step = static_cast<float>(trained_);
    runners_[0].Train(.3f + step, /*examples=*/1);
    runners_[1].Train(-.7f * step, /*examples=*/1);
  }
}

void Lanes::Hold() {
  const v1::HoldRoundsReply held = runners_[0].Hold(true, ++orders_);
  v1::CommitRoundRequest commit;
  commit.mutable_header()->set_timeline(shards_.view().timeline());
  *commit.mutable_closed() = held.last();
  for (int i = 0; i < shards_.size(); ++i) {
    if (shards_.at(i).Report().partitions().empty()) continue;
    ps::ReplicaWait nobody;
    const absl::Status committed = shards_.at(i).shard().CommitRound(commit, nobody);
    ASSERT_TRUE(committed.ok()) << "shard " << i << ": " << committed;
  }
}

void Lanes::SetView() {
  for (Runner& runner : runners_) runner.SetView(shards_.view());
}

std::vector<float> Lanes::Everything() {
  EXPECT_EQ(runners_[0].Open(absl::Seconds(5)).answer(), v1::OpenRoundReply::ANSWER_OPEN);
  const PullResult pulled = runners_[0].Pull();
  EXPECT_TRUE(pulled.status.ok()) << pulled.status;
  std::vector<float> all = runners_[0].rows();
  all.insert(all.end(), runners_[0].dense().begin(), runners_[0].dense().end());
  return all;
}

}  // namespace capstan
