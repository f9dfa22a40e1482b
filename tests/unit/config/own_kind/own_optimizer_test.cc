// job.yaml of a program that has a kind of optimizer of its own, beside those of Capstan.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "capstan/config/config.h"
#include "capstan/optim/optimizer_description.h"
#include "capstan/optim/settings.h"
#include "tests/unit/config/refusals.h"

namespace capstan {
namespace {

using ::testing::HasSubstr;

constexpr auto kOwnKind = static_cast<v1::OptimizerKind>(kFirstKindOfOnesOwn + 1);

// It is set by the same switch as momentum is.
const OptimizerRegistration kOwn({.kind = kOwnKind,
                                  .name = "own",
                                  .settings = SettingsOf({.learning_rate = 0.25}, {}),
                                  .switches = {{.key = "nesterov",
                                                .set = &v1::OptimizerSpec::set_nesterov}}});

std::string JobWithDense(const std::string& settings) {
  return capstan::Job("optimizer: {dense: {" + settings + "}}\n");
}

TEST(OwnOptimizerTest, ASwitchOfTwoKindsIsOneOfEach) {
  const auto momentum = ParseJob({.text = JobWithDense("kind: momentum, nesterov: true")});
  ASSERT_TRUE(momentum.ok()) << momentum.status();
  EXPECT_TRUE(momentum->dense_optimizer().nesterov());
  const auto own = ParseJob({.text = JobWithDense("kind: own, nesterov: true")});
  ASSERT_TRUE(own.ok()) << own.status();
  EXPECT_EQ(own->dense_optimizer().kind(), kOwnKind);
  EXPECT_TRUE(own->dense_optimizer().nesterov());
  EXPECT_EQ(own->dense_optimizer().learning_rate(), 0.25f);
  EXPECT_THAT(Refusal(JobWithDense("kind: sgd, nesterov: true")),
              HasSubstr("optimizer.dense.nesterov: is not a setting of sgd"));
}

}  // namespace
}  // namespace capstan
