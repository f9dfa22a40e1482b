#include "capstan/rpc/status.h"

#include <gtest/gtest.h>

#include "absl/strings/cord.h"

namespace capstan {
namespace {

absl::Duration HintOf(const char* millis) {
  absl::Status status = absl::ResourceExhaustedError("full");
  status.SetPayload(kRetryHint, absl::Cord(millis));
  return RetryAfter(status);
}

TEST(RetryAfterTest, IsWhatTheRefusalSays) {
  const absl::Status refusal = absl::ResourceExhaustedError("full");
  EXPECT_EQ(RetryAfter(refusal), absl::ZeroDuration());
  EXPECT_EQ(RetryAfter(WithRetryAfter(refusal, absl::Milliseconds(50))), absl::Milliseconds(50));
}

TEST(RetryAfterTest, IsBoundedWhateverAPeerSays) {
  EXPECT_EQ(HintOf("9223372036854775807"), kLongestRetryHint);
  EXPECT_EQ(HintOf("-1"), absl::ZeroDuration());
  EXPECT_EQ(HintOf("soon"), absl::ZeroDuration());
}

}  // namespace
}  // namespace capstan
