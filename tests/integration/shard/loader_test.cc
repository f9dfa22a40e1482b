// Which failures of a load last, and after which it is tried again.
#include "ps/transfer/loader.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "tests/integration/shard/local_shard.h"
#include "tests/lib/faulty_object_store.h"
#include "tests/lib/memory_object_store.h"

namespace capstan {
namespace {

class LoaderTest : public testing::Test {
 protected:
  // The store is opened in vain in these ways, one after the other; then it is there, and empty.
  void OpeningFails(std::vector<absl::Status> ways) { ways_ = std::move(ways); }

  // Orders the same load until it has ended for good, as the chief does.
  absl::Status LoadAgainAndAgain() {
    v1::LoadPartitionsRequest order = shards_.LoadOrder(0);
    order.mutable_header()->set_timeline(shards_.view().timeline() + 1);
    order.set_uri("memory");
    absl::StatusOr<v1::LoadPartitionsReply> reply = loader_.Order(order);
    while (reply.ok() && !reply->done()) {
      absl::SleepFor(absl::Milliseconds(1));
      reply = loader_.Order(order);
    }
    return reply.status();
  }

  size_t opened() const { return opened_; }

 private:
  absl::StatusOr<std::unique_ptr<ObjectStore>> Open() {
    const size_t before = opened_++;
    if (before < ways_.size()) return ways_[before];
    return std::make_unique<FaultyObjectStore>(*memory_);
  }

  std::vector<absl::Status> ways_;
  std::atomic<size_t> opened_{0};
  const std::unique_ptr<ObjectStore> memory_ = MakeMemoryObjectStore();
  LocalShards shards_{SmallJob(2, 2), 1};
  Threads threads_;
  ps::Loader loader_{
      shards_.at(0).shard(),
      {.open_store = [this](const std::string&) { return Open(); }, .background = threads_}};
};

TEST_F(LoaderTest, KeysToTheStoreMayComeLater) {
  OpeningFails({absl::PermissionDeniedError("no keys"), absl::UnauthenticatedError("old keys"),
                absl::UnavailableError("away"), absl::UnknownError("I/O error")});
  EXPECT_TRUE(absl::IsDataLoss(LoadAgainAndAgain())) << "the store was there in the end, and empty";
  EXPECT_EQ(opened(), 5u);
}

TEST_F(LoaderTest, WhatIsNotInTheStoreIsNotLookedForAgain) {
  EXPECT_TRUE(absl::IsDataLoss(LoadAgainAndAgain()));
  EXPECT_TRUE(absl::IsDataLoss(LoadAgainAndAgain()));
  EXPECT_EQ(opened(), 1u);
}

}  // namespace
}  // namespace capstan
