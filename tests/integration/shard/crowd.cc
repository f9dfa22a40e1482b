#include "tests/integration/shard/crowd.h"

#include <gtest/gtest.h>

#include "absl/time/clock.h"

namespace capstan {

Crowd::Crowd(LocalShards& shards) : view_(shards.view()) {
  for (uint32_t column = 0; column < kColumns; ++column) {
    clients_.push_back(
        std::make_unique<CountingClient>(shards.job(), shards.view(), column, kRows));
    clients_.back()->SetRefresh([this] {
      absl::MutexLock lock(&mu_);
      return view_;
    });
  }
  for (auto& client : clients_) {
    threads_.emplace_back([this, &client = *client] {
      while (!stopping_) {
        const absl::Status pushed = client.Push();
        EXPECT_TRUE(pushed.ok()) << pushed;
        ++pushes_;
        if (!pushed.ok()) return;
      }
    });
  }
}

void Crowd::Tell(const v1::View& view) {
  absl::MutexLock lock(&mu_);
  view_ = view;
}

void Crowd::AwaitPushes(int more) {
  const int until = pushes_ + more;
  while (pushes_ < until && !testing::Test::HasFailure()) absl::SleepFor(absl::Milliseconds(1));
}

void Crowd::Stop() {
  stopping_ = true;
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

void Crowd::ExpectExact() {
  Stop();
  for (auto& client : clients_) EXPECT_TRUE(client->Repeat().ok());
  const absl::StatusOr<std::vector<float>> cells = clients_[0]->Pull();
  ASSERT_TRUE(cells.ok()) << cells.status();
  for (size_t row = 0; row <= kRows; ++row) {  // The last one is the dense vector.
    for (uint32_t column = 0; column < kColumns; ++column) {
      EXPECT_EQ((*cells)[row * kColumns + column], static_cast<float>(clients_[column]->pushes()))
          << "row " << row << ", column " << column;
    }
  }
}

}  // namespace capstan
