// Which objects a save makes of a shard's partitions.
#include "ps/transfer/save_job.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <vector>

#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "tests/integration/shard/local_shard.h"
#include "tests/lib/faulty_object_store.h"
#include "tests/lib/memory_object_store.h"

namespace capstan {
namespace {

using testing::ElementsAre;
using testing::SizeIs;

// Threads that say when work waits for the first time.
class WatchedThreads : public Threads {
 public:
  void SleepFor(absl::Duration length) override {
    if (!waited_.exchange(true)) first_wait_.Notify();
    Threads::SleepFor(length);
  }
  bool waited() const { return waited_; }
  // False: nobody has waited for so long.
  bool AwaitFirstWait(absl::Duration length) {
    return first_wait_.WaitForNotificationWithTimeout(length);
  }

 private:
  std::atomic<bool> waited_{false};
  absl::Notification first_wait_;
};

class SaveJobTest : public testing::Test {
 protected:
  // Saves all partitions of a shard of this job.
  absl::Status Save(const v1::JobSpec& job, const StoreFaultPlan& plan = nullptr) {
    LocalShards shards(job, 1);
    return SaveShard(shards, plan);
  }
  absl::Status SaveShard(LocalShards& shards, const StoreFaultPlan& plan,
                         size_t may_wait = kWaitingForStoreLimit) {
    v1::SavePartitionsRequest order;
    order.mutable_header()->set_timeline(shards.view().timeline());
    order.set_id("1-a");
    const auto open = [&](const std::string&) -> absl::StatusOr<std::unique_ptr<ObjectStore>> {
      auto store = std::make_unique<FaultyObjectStore>(*memory_);
      store->SetPlan(plan);
      return store;
    };
    ps::SaveJob save(shards.at(0).shard(), order, {.open_store = open, .background = threads_},
                     may_wait);
    save.Mark();
    const absl::Status status = save.Run();
    if (status.ok()) files_ = save.files();
    return status;
  }

  const std::unique_ptr<ObjectStore> memory_ = MakeMemoryObjectStore();
  WatchedThreads threads_;
  std::vector<v1::SavedFile> files_;
};

TEST_F(SaveJobTest, SmallPartitionsShareAnObject) {
  ASSERT_TRUE(Save(SmallJob(2, 2)).ok());
  ASSERT_THAT(files_, SizeIs(8));
  for (uint32_t i = 0; i < 8; ++i) EXPECT_EQ(files_[i].partition(), i);
  EXPECT_THAT(*memory_->List(""),
              ElementsAre(ObjectInfo{"partition-0000.capstan", files_.front().object_bytes()}));
}

TEST_F(SaveJobTest, LargeOnesHaveSeveral) {
  v1::JobSpec job = SmallJob(0, 4 * (9 << 20));  // 36 MiB a partition.
  job.set_partition_count(4);
  ASSERT_TRUE(Save(job).ok());
  ASSERT_THAT(files_, SizeIs(4));
  EXPECT_THAT(*memory_->List(""),
              ElementsAre(ObjectInfo{"partition-0000.capstan", files_[0].object_bytes()},
                          ObjectInfo{"partition-0002.capstan", files_[2].object_bytes()}));
}

// A store that takes nothing until somebody waits for it, or `length` has passed.
StoreFaultPlan TakesNothingUntil(WatchedThreads& threads, absl::Duration length) {
  return [&threads, length](const StoreCall& call) {
    StoreFault fault;
    if (call.kind == StoreCall::Kind::kAppend) {
      fault.pause = [&threads, length] { (void)threads.AwaitFirstWait(length); };
    }
    return fault;
  };
}

v1::JobSpec JobOfOnePartition(uint32_t floats) {
  v1::JobSpec job = SmallJob(0, floats);
  job.set_partition_count(1);
  return job;
}

TEST_F(SaveJobTest, ACopyWaitsForAStoreThatIsTooFarBehindIt) {
  LocalShards shards(JobOfOnePartition(4 << 20), 1);
  ASSERT_TRUE(SaveShard(shards, TakesNothingUntil(threads_, absl::Seconds(60)), 4 << 20).ok());
  EXPECT_TRUE(threads_.waited());
  EXPECT_THAT(files_, SizeIs(1));
}

TEST_F(SaveJobTest, ACopyWaitsForNoStoreWhileTrainingWouldHaveToStopForIt) {
  LocalShards shards(JobOfOnePartition(4 << 20), 1);
  shards.at(0).shard().kept().SetLimit(0);
  ASSERT_TRUE(SaveShard(shards, TakesNothingUntil(threads_, absl::Milliseconds(10)), 1).ok());
  EXPECT_FALSE(threads_.waited());
}

TEST_F(SaveJobTest, AnErrorAtAnyCallEndsItAndLeavesNoObject) {
  for (auto kind : {StoreCall::Kind::kCreate, StoreCall::Kind::kAppend, StoreCall::Kind::kCommit}) {
    const absl::Status saved = Save(SmallJob(2, 2), [kind](const StoreCall& call) {
      StoreFault fault;
      if (call.kind == kind) fault.status = absl::PermissionDeniedError("no");
      return fault;
    });
    EXPECT_TRUE(absl::IsPermissionDenied(saved)) << saved;
    EXPECT_TRUE(memory_->List("")->empty());
  }
}

}  // namespace
}  // namespace capstan
