#include "worker/shell/user_program.h"

#include <gtest/gtest.h>

#include <utility>

namespace capstan::worker {
namespace {

v1::JobSpec JobOf(const uint64_t seed) {
  v1::JobSpec job;
  job.set_job("clicks");
  job.set_seed(seed);
  job.mutable_model()->set_user("m.py");
  return job;
}

class UserProgramTest : public testing::Test {
 protected:
  void DeclareModel(bool predicts) {
    DeclaredModel model;
    model.declaration.add_tensors()->set_name("w");
    if (predicts) model.declaration.add_outputs("label");
    program_.Declare(std::move(model));
  }

  absl::Status NewComputer(const v1::JobSpec& job) {
    return program_.NewComputer(job, {}, loop_).status();
  }

  Shutdown shutdown_;
  EventLoop loop_;
  UserProgram program_{shutdown_};
};

TEST_F(UserProgramTest, AModelIsOfTheJobThatTheProgramWasGiven) {
  DeclareModel(/*predicts=*/true);
  ASSERT_TRUE(program_.Declare(JobOf(1)).ok());
  EXPECT_EQ(program_.AwaitJob(absl::ZeroDuration())->seed(), 1u);
  EXPECT_TRUE(program_.Declare(JobOf(1)).ok()) << "the same job, which begins anew";
  EXPECT_EQ(NewComputer(JobOf(1)), absl::OkStatus());
  const absl::Status refused = absl::AbortedError(
      "job clicks is another one than this program was given: seed was 1 and is 77; it ends, to be "
      "started again");
  EXPECT_EQ(program_.Declare(JobOf(77)).status(), refused);
  EXPECT_EQ(NewComputer(JobOf(77)), refused);
  EXPECT_EQ(program_.AwaitJob(absl::ZeroDuration())->seed(), 1u);
}

TEST_F(UserProgramTest, TensorsAndSettingsThatMayChangeAreTakenUp) {
  DeclareModel(/*predicts=*/true);
  ASSERT_TRUE(program_.Declare(JobOf(1)).ok());
  v1::JobSpec job = JobOf(1);
  job.add_tensors()->set_name("w");
  job.mutable_train()->set_step_timeout_seconds(7);
  ASSERT_EQ(NewComputer(job), absl::OkStatus());
  EXPECT_EQ(program_.job()->tensors_size(), 1);
  EXPECT_EQ(program_.job(), program_.job())
      << "a step asks for it, which is not to copy all tensors";
  EXPECT_EQ(program_.step_limit()->timeout, absl::Seconds(7));
}

TEST_F(UserProgramTest, RecordsThatAreHeldOutLaterNeedAProgramWithPredict) {
  v1::JobSpec held_out = JobOf(1);
  held_out.mutable_data()->add_eval("held_out.csv");
  DeclareModel(/*predicts=*/false);
  ASSERT_TRUE(program_.Declare(JobOf(1)).ok());
  EXPECT_EQ(
      NewComputer(held_out),
      absl::AbortedError("job clicks is another one than this program was given: records are "
                         "held out (data.eval), and train() was given no predict; it ends, to "
                         "be started again"));
  UserProgram predicts(shutdown_);
  DeclaredModel model;
  model.declaration.add_outputs("label");
  predicts.Declare(std::move(model));
  ASSERT_TRUE(predicts.Declare(JobOf(1)).ok());
  EXPECT_TRUE(predicts.NewComputer(held_out, {}, loop_).ok());
}

}  // namespace
}  // namespace capstan::worker
