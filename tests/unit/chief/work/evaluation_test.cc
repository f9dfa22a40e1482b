#include "chief/work/evaluation.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace capstan::chief {
namespace {

// A job that is evaluated every 1,000 examples.
Evaluations EveryThousand() {
  JobPlan plan;
  plan.spec.mutable_train()->set_evaluate_every_examples(1000);
  plan.eval = std::vector<v1::Task>(1);
  return Evaluations(plan);
}

v1::Evaluation After(uint64_t examples) {
  v1::Evaluation about;
  about.set_examples(examples);
  return about;
}

TEST(EvaluationsTest, TheNextOneIsDueAtTheFirstMultipleBeyondTheLast) {
  Evaluations evaluations = EveryThousand();
  EXPECT_FALSE(evaluations.Due(999, 0));
  EXPECT_TRUE(evaluations.Due(1000, 0));
  evaluations.Restore({After(3500)}, /*examples=*/3500, /*epochs_done=*/0);
  EXPECT_FALSE(evaluations.Due(3999, 0));
  EXPECT_TRUE(evaluations.Due(4000, 0));
}

// The number comes from workers' reports: a chief that counted up to it would never answer again.
TEST(EvaluationsTest, AnAbsurdNumberOfExamplesTakesNoLongerThanAnother) {
  const uint64_t absurd = (uint64_t{1} << 63) + 12345;
  Evaluations evaluations = EveryThousand();
  evaluations.Begin(After(absurd), /*epochs_done=*/0);
  evaluations.Restore({After(absurd)}, absurd, /*epochs_done=*/0);
  EXPECT_FALSE(evaluations.Due(absurd, 0));
  EXPECT_TRUE(evaluations.Due(absurd + 1000, 0));
  evaluations.Restore({After(UINT64_MAX)}, UINT64_MAX, /*epochs_done=*/0);
  EXPECT_TRUE(evaluations.Due(UINT64_MAX, 0));
}

}  // namespace
}  // namespace capstan::chief
