// How many partitions are on their way to the store at a time.
#include "ps/save_job.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "capstan/base/check.h"
#include "tests/integration/shard/local_shard.h"
#include "tests/lib/faulty_object_store.h"
#include "tests/lib/memory_object_store.h"

namespace capstan {
namespace {

using testing::SizeIs;

// Each write waits until `together` are under way, or for a while.
class Meeting {
 public:
  explicit Meeting(int together) : together_(together) {}

  StoreFault Join(const StoreCall& call) {
    if (!call.publishes()) return {};
    return {.pause = [this] { Wait(); }};
  }
  int most() const {
    absl::MutexLock lock(&mu_);
    return most_;
  }

 private:
  void Wait() {
    absl::MutexLock lock(&mu_);
    most_ = std::max(most_, ++under_way_);
    const auto met = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) { return most_ >= together_; };
    (void)mu_.AwaitWithTimeout(absl::Condition(&met), absl::Seconds(together_ > 1 ? 20 : 0));
    --under_way_;
  }

  const int together_;
  mutable absl::Mutex mu_;
  int under_way_ ABSL_GUARDED_BY(mu_) = 0;
  int most_ ABSL_GUARDED_BY(mu_) = 0;
};

class SaveJobTest : public testing::Test {
 protected:
  // Saves all partitions of a shard of this job.
  absl::Status Save(const v1::JobSpec& job, const StoreFaultPlan& plan) {
    LocalShards shards(job, 1);
    v1::SavePartitionsRequest order;
    order.mutable_header()->set_timeline(shards.view().timeline());
    order.set_id("1-a");
    Threads threads;
    const auto open = [&](const std::string&) -> absl::StatusOr<std::unique_ptr<ObjectStore>> {
      auto store = std::make_unique<FaultyObjectStore>(*memory_);
      store->SetPlan(plan);
      return store;
    };
    ps::SaveJob save(shards.at(0).shard(), order, {.open_store = open, .background = threads});
    CAPSTAN_CHECK(save.Mark().ok());
    const absl::Status status = save.Run();
    if (status.ok()) files_ = save.files();
    return status;
  }

  const std::unique_ptr<ObjectStore> memory_ = MakeMemoryObjectStore();
  std::vector<v1::SavedFile> files_;
};

TEST_F(SaveJobTest, AFileIsWrittenWhileOthersAre) {
  Meeting meeting(/*together=*/8);
  ASSERT_TRUE(Save(SmallJob(2, 2), [&](const StoreCall& call) { return meeting.Join(call); }).ok());
  EXPECT_EQ(meeting.most(), 8);
  ASSERT_THAT(files_, SizeIs(8));
  for (uint32_t i = 0; i < 8; ++i) EXPECT_EQ(files_[i].partition(), i);
  EXPECT_THAT(*memory_->List(""), SizeIs(8));
}

TEST_F(SaveJobTest, LargePartitionsAreInMemoryOneAtATime) {
  v1::JobSpec job = SmallJob(0, 10 << 20);  // 40 MiB.
  job.set_partition_count(2);
  Meeting meeting(/*together=*/1);
  ASSERT_TRUE(Save(job, [&](const StoreCall& call) { return meeting.Join(call); }).ok());
  EXPECT_EQ(meeting.most(), 1);
  EXPECT_THAT(files_, SizeIs(2));
}

TEST_F(SaveJobTest, OneFileThatFailsEndsItAll) {
  const absl::Status saved = Save(SmallJob(2, 2), [](const StoreCall& call) {
    StoreFault fault;
    if (call.key == "partition-0003.capstan") fault.status = absl::PermissionDeniedError("no");
    return fault;
  });
  EXPECT_TRUE(absl::IsPermissionDenied(saved)) << saved;
}

}  // namespace
}  // namespace capstan
