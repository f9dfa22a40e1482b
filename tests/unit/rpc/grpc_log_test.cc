#include "capstan/rpc/grpc_log.h"

#include <grpc/support/log.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

namespace capstan {
namespace {

constexpr char kVerbosity[] = "GRPC_VERBOSITY";
constexpr char kComplaint[] = "what a peer did wrong";

std::atomic<int> complaints{0};

// Takes the place of what writes to stderr. Threads of gRPC may log at any time.
void CountComplaints(gpr_log_func_args* line) {
  if (std::string_view(line->message) == kComplaint) ++complaints;
}

// As long as it lives gRPC logs its errors, and GRPC_VERBOSITY is what a test says.
class GrpcLogTest : public testing::Test {
 protected:
  GrpcLogTest() {
    if (const char* const before = std::getenv(kVerbosity)) before_ = before;
    gpr_set_log_verbosity(GPR_LOG_SEVERITY_ERROR);
    gpr_set_log_function(CountComplaints);
    complaints = 0;
  }
  ~GrpcLogTest() override {
    unsetenv(kVerbosity);
    SilenceGrpc();  // As the other tests have it.
    if (before_) setenv(kVerbosity, before_->c_str(), /*overwrite=*/1);
  }

  static int Heard() {
    gpr_log(GPR_ERROR, "%s", kComplaint);
    return complaints;
  }

  std::optional<std::string> before_;
};

TEST_F(GrpcLogTest, NothingIsWrittenAnyMore) {
  unsetenv(kVerbosity);
  ASSERT_EQ(Heard(), 1) << "it is written before";
  SilenceGrpc();
  EXPECT_EQ(Heard(), 1);
  SilenceGrpc();
  EXPECT_EQ(Heard(), 1);
}

TEST_F(GrpcLogTest, WhoeverAsksGrpcToSpeakHearsIt) {
  setenv(kVerbosity, "ERROR", /*overwrite=*/1);
  SilenceGrpc();
  EXPECT_EQ(Heard(), 1);
  setenv(kVerbosity, "", /*overwrite=*/1);
  SilenceGrpc();
  EXPECT_EQ(Heard(), 2) << "it is set, to whatever";
}

}  // namespace
}  // namespace capstan
