// A save to a store that is slow, or hangs, in injected time.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "capstan/metrics/registry.h"
#include "ps/partition/shard_metrics.h"
#include "ps/shard/shard.h"
#include "ps/transfer/load_job.h"
#include "ps/transfer/saver.h"
#include "tests/integration/shard/local_shard.h"
#include "tests/lib/faulty_object_store.h"
#include "tests/lib/memory_object_store.h"

namespace capstan::ps {
namespace {

using testing::HasSubstr;

// Lets so many calls pass as the test allows, and holds up the others. *Thread-safe*.
class Gate {
 public:
  void Pass() {
    absl::MutexLock lock(&mu_);
    ++waiting_;
    mu_.Await(absl::Condition(this, &Gate::MayPass));
    --allowed_;
    --waiting_;
  }
  void Allow(int calls) {
    absl::MutexLock lock(&mu_);
    allowed_ += calls;
  }
  void AwaitSomebody() {
    absl::MutexLock lock(&mu_);
    mu_.Await(absl::Condition(this, &Gate::HoldsUp));
  }

 private:
  bool MayPass() const ABSL_SHARED_LOCKS_REQUIRED(mu_) { return allowed_ > 0; }
  bool HoldsUp() const ABSL_SHARED_LOCKS_REQUIRED(mu_) { return waiting_ > 0 && allowed_ == 0; }

  absl::Mutex mu_;
  int allowed_ ABSL_GUARDED_BY(mu_) = 0;
  int waiting_ ABSL_GUARDED_BY(mu_) = 0;
};

class SlowSaveTest : public testing::Test {
 protected:
  SlowSaveTest() {
    v1::LoadPartitionsRequest load;
    load.mutable_header()->set_timeline(1);
    for (uint32_t i = 0; i < job_.partition_count(); ++i) load.add_partitions(i);
    EXPECT_TRUE(shard_->contents().BeginLoad(1).ok());
    EXPECT_TRUE(LoadJob(*shard_, load, {.background = threads_}).Run().ok());
    order_.mutable_header()->set_timeline(1);
    order_.set_uri("memory");
    order_.set_id("1-a");
    saver_.emplace(*shard_, Outside{.open_store = [this](const std::string&) { return Open(); },
                                    .background = threads_});
  }
  ~SlowSaveTest() override { gate_.Allow(1 << 20); }

  // A store whose writers pass the gate with each piece.
  absl::StatusOr<std::unique_ptr<ObjectStore>> Open() {
    auto store = std::make_unique<FaultyObjectStore>(*memory_);
    store->SetPlan([this](const StoreCall& call) -> StoreFault {
      if (call.kind != StoreCall::Kind::kAppend) return {};
      return {.pause = [this] { gate_.Pass(); }};
    });
    return store;
  }

  const v1::JobSpec job_ = SmallJob(2, 2);
  Gate gate_;
  const std::unique_ptr<ObjectStore> memory_ = MakeMemoryObjectStore();
  FakeClock clock_;
  metrics::Registry registry_;
  ShardMetrics metrics_{registry_};
  const std::unique_ptr<Shard> shard_ =
      *Shard::Create(job_, {ShardIndex{0}, Incarnation{1}}, metrics_, clock_);
  Threads threads_;
  v1::SavePartitionsRequest order_;
  std::optional<Saver> saver_;
};

TEST_F(SlowSaveTest, TakesAsLongAsItTakesWhileBytesMove) {
  ASSERT_TRUE(saver_->Order(order_).ok());
  for (int i = 0; i < 5; ++i) {
    gate_.AwaitSomebody();
    clock_.Advance(Saver::kStill - absl::Seconds(1));
    const auto reply = saver_->Order(order_);
    ASSERT_TRUE(reply.ok()) << reply.status();
    EXPECT_FALSE(reply->done());
    gate_.Allow(1);
  }
  gate_.Allow(1 << 20);
  absl::StatusOr<v1::SavePartitionsReply> reply = saver_->Order(order_);
  while (reply.ok() && !reply->done()) {
    absl::SleepFor(absl::Milliseconds(1));
    reply = saver_->Order(order_);
  }
  ASSERT_TRUE(reply.ok()) << reply.status();
  EXPECT_EQ(reply->files_size(), 8);
}

TEST_F(SlowSaveTest, IsGivenUpWhenTheStoreTakesNothingMore) {
  ASSERT_TRUE(saver_->Order(order_).ok());
  gate_.Allow(1);
  gate_.AwaitSomebody();
  ASSERT_TRUE(saver_->Order(order_).ok());
  clock_.Advance(Saver::kStill + absl::Seconds(1));
  const absl::Status still = saver_->Order(order_).status();
  EXPECT_TRUE(absl::IsAborted(still)) << still;
  EXPECT_THAT(std::string(still.message()), HasSubstr("the store has taken nothing for 10m"));
  v1::SavePartitionsRequest next = order_;
  next.set_id("2-b");
  EXPECT_TRUE(absl::IsUnavailable(saver_->Order(next).status())) << "the store holds its thread";
  gate_.Allow(1 << 20);
}

}  // namespace
}  // namespace capstan::ps
