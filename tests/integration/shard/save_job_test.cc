// Which objects a save makes of a shard's partitions.
#include "ps/shard/save_job.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "capstan/base/check.h"
#include "tests/integration/shard/local_shard.h"
#include "tests/lib/faulty_object_store.h"
#include "tests/lib/memory_object_store.h"

namespace capstan {
namespace {

using testing::ElementsAre;
using testing::SizeIs;

class SaveJobTest : public testing::Test {
 protected:
  // Saves all partitions of a shard of this job.
  absl::Status Save(const v1::JobSpec& job, const StoreFaultPlan& plan = nullptr) {
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
