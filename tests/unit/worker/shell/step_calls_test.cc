#include "worker/shell/step_calls.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "absl/time/time.h"
#include "capstan/client/parameter_map.h"
#include "capstan/client/request_plan.h"
#include "capstan/rpc/event_loop.h"
#include "capstan/v1/job.pb.h"

namespace capstan::worker {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr ShardIndex kFirst{0}, kSecond{1};

ParameterMap OneTensor() {
  v1::JobSpec job;
  job.set_partition_count(1);
  v1::TensorSpec& tensor = *job.add_tensors();
  tensor.set_name("w");
  tensor.add_shape(8);
  return *ParameterMap::Create(job);
}

// Each call has a name. It is under way until the loop is polled, for its client knows no shard and
// says so in the next Poll.
class StepCallsTest : public testing::Test {
 protected:
  void Begin(uint64_t batch, ShardIndex shard, const std::string& name) {
    calls_->Begin(batch, shard, [&] { return Push(shard, name); });
  }

  RequestId Push(ShardIndex shard, const std::string& name) {
    under_way_.insert(name);
    // Goes with the callback, whether that has run or not.
    std::shared_ptr<void> end(nullptr, [this, name](void*) { under_way_.erase(name); });
    return client_.Push(
        shard, plan_, {.empty = true}, {},
        [this, name, end = std::move(end)](const PushResult&) { answered_.insert(name); });
  }

  const std::set<std::string>& Answered() {
    for (int i = 0; i < 100 && !under_way_.empty(); ++i) loop_.Poll(absl::Milliseconds(10));
    return answered_;
  }

  const ParameterMap map_ = OneTensor();
  const RequestPlan plan_{map_};
  std::set<std::string> under_way_;
  std::set<std::string> answered_;
  EventLoop loop_;
  PsClient client_{loop_, map_, {}};
  std::optional<StepCalls> calls_{std::in_place, client_};
};

TEST_F(StepCallsTest, ALaterCallTakesThePlaceOfTheOneBefore) {
  Begin(1, kFirst, "first");
  Begin(1, kFirst, "second");
  EXPECT_THAT(under_way_, ElementsAre("second"));
  Begin(1, kFirst, "third");
  EXPECT_THAT(under_way_, ElementsAre("third"));
  EXPECT_THAT(Answered(), ElementsAre("third"));
}

TEST_F(StepCallsTest, TheOneBeforeHasLetGoOfTheStepWhenTheLaterOneBegins) {
  Begin(1, kFirst, "first");
  calls_->Begin(1, kFirst, [&] {
    EXPECT_THAT(under_way_, IsEmpty());
    return Push(kFirst, "second");
  });
  EXPECT_THAT(Answered(), ElementsAre("second"));
}

TEST_F(StepCallsTest, CallsOfOtherBatchesAndToOtherShardsGoOn) {
  Begin(1, kFirst, "of 1 to the first");
  Begin(1, kSecond, "of 1 to the second");
  Begin(2, kFirst, "of 2 to the first");
  EXPECT_THAT(Answered(),
              ElementsAre("of 1 to the first", "of 1 to the second", "of 2 to the first"));
}

TEST_F(StepCallsTest, CancellingABatchEndsItsCallsToAllShardsAndNoOthers) {
  Begin(1, kFirst, "of 1 to the first");
  Begin(1, kSecond, "of 1 to the second");
  Begin(0, kSecond, "of 0");
  Begin(2, kFirst, "of 2");
  calls_->CancelBatch(1);
  EXPECT_THAT(under_way_, ElementsAre("of 0", "of 2")) << "at once";
  EXPECT_THAT(Answered(), ElementsAre("of 0", "of 2"));
}

TEST_F(StepCallsTest, CancellingAllEndsTheCallsOfEveryBatchAndNewOnesMayBegin) {
  Begin(1, kFirst, "of 1");
  Begin(2, kSecond, "of 2");
  calls_->CancelAll();
  EXPECT_THAT(under_way_, IsEmpty());
  Begin(1, kFirst, "of 1 again");
  EXPECT_THAT(Answered(), ElementsAre("of 1 again"));
}

TEST_F(StepCallsTest, NoCallOutlivesThem) {
  Begin(1, kFirst, "first");
  calls_.reset();
  EXPECT_THAT(under_way_, IsEmpty());
  EXPECT_THAT(Answered(), IsEmpty());
}

TEST_F(StepCallsTest, ACallThatIsDoneIsForgottenAndNoOtherOne) {
  Begin(1, kFirst, "done");
  Begin(1, kSecond, "to another shard");
  Begin(2, kFirst, "of another batch");
  calls_->OnDone(1, kFirst);
  calls_->CancelAll();
  EXPECT_THAT(under_way_, ElementsAre("done")) << "what is forgotten is not cancelled";
}

}  // namespace
}  // namespace capstan::worker
