#include "worker/shell/user_program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace capstan::worker {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class UserProgramTest : public testing::Test {
 protected:
  UserProgramTest() {
    DeclaredModel model;
    (*model.declaration.mutable_facts())["torch"] = "2.0";
    program_.Declare(std::move(model));
  }

  // In a job of this policy whose model was declared by worker-0, with this version.
  v1::RegisterWorkerReply Registration(v1::PolicyKind kind, const std::string& torch) const {
    v1::RegisterWorkerReply reply;
    reply.mutable_job()->mutable_dense_update()->set_kind(kind);
    reply.set_declared_by("worker-0");
    (*reply.mutable_facts())["torch"] = torch;
    return reply;
  }

  Shutdown shutdown_{std::vector<int>()};
  UserProgram program_{shutdown_};
};

TEST_F(UserProgramTest, OtherFactsThanTheJobsAreToldOfASynchronousJobAlone) {
  program_.OnRegistered(Registration(v1::POLICY_KIND_SYNC, "2.0"));
  program_.OnRegistered(Registration(v1::POLICY_KIND_ASYNC, "1.13"));
  EXPECT_THAT(program_.warnings(), IsEmpty());
  program_.OnRegistered(Registration(v1::POLICY_KIND_SYNC, "1.13"));
  EXPECT_THAT(program_.warnings(),
              ElementsAre("bits depend on who works: torch is 2.0 here, and 1.13 in the job, as "
                          "declared by worker-0"));
}

TEST_F(UserProgramTest, AWarningIsKeptOnce) {
  program_.Warn("b");
  program_.Warn("a");
  program_.Warn("b");
  EXPECT_THAT(program_.warnings(), ElementsAre("a", "b"));
}

}  // namespace
}  // namespace capstan::worker
