#include "worker/shell/hang_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "capstan/client/parameter_map.h"

namespace capstan::worker {
namespace {

using ::testing::HasSubstr;

constexpr absl::Duration kLimit = absl::Minutes(15);

class HangWatchTest : public testing::Test {
 protected:
  // A step that the program has taken.
  UserSteps::Taken Taken(Computer::Kind kind = Computer::Kind::kGradients) {
    auto batch = std::make_shared<Batch>();
    batch->offsets = {0};
    computer_.Submit(pool_.Take(std::move(batch), owners_), kind, [this] { ++done_; });
    return *steps_.Take(absl::ZeroDuration());
  }
  std::optional<v1::UserCodeError> Look(absl::Duration limit = kLimit) {
    return watch_.Look(limit, "deepfm.py", [this] { ended_ = true; });
  }
  bool Asks() { return watch_.AwaitQuestion(absl::ZeroDuration()); }

  const ParameterMap map_ = *ParameterMap::Create([] {
    v1::JobSpec job;
    job.set_partition_count(1);
    return job;
  }());
  const std::vector<uint32_t> owners_ = {0};
  StepPool pool_{map_};
  EventLoop loop_;
  FakeClock clock_;
  UserSteps steps_{clock_};
  UserCompute computer_{steps_, loop_, /*compensates=*/false};
  HangWatch watch_{steps_, clock_};
  int done_ = 0;
  bool ended_ = false;
};

TEST_F(HangWatchTest, AStepThatComesBackInTimeHangsNot) {
  UserSteps::Taken taken = Taken();
  clock_.Advance(kLimit - absl::Seconds(1));
  EXPECT_FALSE(Look());
  EXPECT_FALSE(Asks());
  steps_.Finish(std::move(taken));
  clock_.Advance(kLimit);
  EXPECT_FALSE(Look()) << "the program waits for a step, and not we for it";
  EXPECT_FALSE(Asks());
}

TEST_F(HangWatchTest, TheProgramIsAskedWhereItStandsAndItsLeaseIsTold) {
  const UserSteps::Taken taken = Taken(Computer::Kind::kLogits);
  clock_.Advance(kLimit);
  EXPECT_FALSE(Look()) << "it is asked first";
  EXPECT_TRUE(Asks());
  watch_.Answer("deepfm.py:31", "in predict\n");
  EXPECT_FALSE(Asks());
  const std::optional<v1::UserCodeError> error = Look();
  ASSERT_TRUE(error);
  EXPECT_EQ(error->type(), "hangs");
  EXPECT_EQ(error->place(), "deepfm.py:31");
  EXPECT_EQ(error->message(), "a step has taken longer than train.step_timeout, 15m");
  EXPECT_EQ(error->traceback(), "in predict\n");
  EXPECT_FALSE(ended_) << "only once the lease knows";
  for (int i = 0; i < 100 && !ended_; ++i) loop_.Poll(absl::Milliseconds(50));
  EXPECT_TRUE(ended_);
  EXPECT_EQ(done_, 1);
  EXPECT_EQ(taken.step->user_code->place(), "deepfm.py:31");
  steps_.Finish(taken);
  EXPECT_FALSE(Look()) << "what comes back too late comes to nothing, and is told once";
}

TEST_F(HangWatchTest, AProgramThatHoldsTheInterpretersLockIsNotWaitedFor) {
  (void)Taken();
  clock_.Advance(kLimit);
  EXPECT_FALSE(Look());
  clock_.Advance(HangWatch::kForPlace - absl::Milliseconds(1));
  EXPECT_FALSE(Look());
  clock_.Advance(absl::Milliseconds(1));
  const std::optional<v1::UserCodeError> error = Look();
  ASSERT_TRUE(error);
  EXPECT_EQ(error->place(), "deepfm.py");
  EXPECT_THAT(error->message(), HasSubstr("it does not let go of the interpreter's lock"));
}

TEST_F(HangWatchTest, AStepThatComesBackWhileItIsAskedAboutHangsNot) {
  UserSteps::Taken taken = Taken();
  clock_.Advance(kLimit);
  EXPECT_FALSE(Look());
  steps_.Finish(std::move(taken));
  watch_.Answer("deepfm.py:31", "");
  EXPECT_FALSE(Look());
  (void)Taken();
  clock_.Advance(kLimit);
  EXPECT_FALSE(Look()) << "the next one is asked about anew";
  EXPECT_TRUE(Asks());
}

TEST_F(HangWatchTest, AProgramWhoseTrainerIsGoneHangsAllTheSame) {
  auto other = std::make_unique<UserCompute>(steps_, loop_, /*compensates=*/false);
  auto batch = std::make_shared<Batch>();
  batch->offsets = {0};
  other->Submit(pool_.Take(std::move(batch), owners_), Computer::Kind::kGradients, [] {});
  (void)steps_.Take(absl::ZeroDuration());
  other.reset();
  clock_.Advance(kLimit);
  EXPECT_FALSE(Look());
  watch_.Answer("deepfm.py:31", "");
  EXPECT_TRUE(Look());
  EXPECT_TRUE(ended_) << "nobody is left to be told first";
}

TEST_F(HangWatchTest, ALimitOfZeroIsNone) {
  (void)Taken();
  clock_.Advance(absl::Hours(1000));
  EXPECT_FALSE(Look(absl::ZeroDuration()));
  EXPECT_FALSE(Asks());
}

}  // namespace
}  // namespace capstan::worker
