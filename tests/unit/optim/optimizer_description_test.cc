#include "capstan/optim/optimizer_description.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <string>

#include "absl/strings/string_view.h"

namespace capstan {
namespace {

TEST(OptimizerDescriptionTest, KindsAreInTheOrderOfTheirNumbersWithNamesOfTheirOwn) {
  std::set<absl::string_view> names;
  int before = v1::OPTIMIZER_KIND_UNSPECIFIED;
  for (const OptimizerDescription& any : OptimizerDescriptions()) {
    EXPECT_GT(static_cast<int>(any.kind), before) << any.name;
    before = any.kind;
    if (any.name.empty()) continue;
    EXPECT_TRUE(names.insert(any.name).second) << any.name;
  }
  EXPECT_TRUE(names.contains("adam"));
}

TEST(OptimizerDescriptionTest, EveryKindOfTheProtocolIsDescribed) {
  for (int kind = v1::OptimizerKind_MIN; kind <= v1::OptimizerKind_MAX; ++kind) {
    if (!v1::OptimizerKind_IsValid(kind) || kind == v1::OPTIMIZER_KIND_UNSPECIFIED) continue;
    const auto* const found = FindOptimizer(static_cast<v1::OptimizerKind>(kind));
    ASSERT_NE(found, nullptr) << kind;
    EXPECT_EQ(found->kind, kind);
  }
  EXPECT_EQ(FindOptimizer(v1::OPTIMIZER_KIND_UNSPECIFIED), nullptr);
  EXPECT_EQ(FindOptimizer(static_cast<v1::OptimizerKind>(kFirstKindOfOnesOwn + 77)), nullptr);
}

TEST(OptimizerDescriptionTest, ASettingIsFoundByItsWholeKeyAmongThoseOfItsKind) {
  const OptimizerDescription& adam = *FindOptimizer(v1::OPTIMIZER_KIND_ADAM);
  const OptimizerSetting* const beta1 = adam.FindSetting("beta1");
  ASSERT_NE(beta1, nullptr);
  v1::OptimizerSpec spec;
  (spec.*beta1->set)(0.25f);
  EXPECT_EQ(spec.beta1(), 0.25f);
  EXPECT_EQ((spec.*beta1->get)(), 0.25f);
  for (const char* key : {"beta", "beta10", "", "momentum", "BETA1"}) {
    EXPECT_EQ(adam.FindSetting(key), nullptr) << key;
  }
}

TEST(OptimizerDescriptionTest, ADefaultIsAValueThatItsSettingMayHaveOrLeavesItOff) {
  for (const OptimizerDescription& any : OptimizerDescriptions()) {
    std::set<absl::string_view> keys;
    for (const OptimizerSetting& setting : any.settings) {
      EXPECT_TRUE(keys.insert(setting.key).second) << any.name << " " << setting.key;
      const bool off = setting.default_value == 0;
      const double least = setting.open ? std::nextafter(setting.min, setting.max) : setting.min;
      EXPECT_TRUE(off || (setting.default_value >= least && setting.default_value <= setting.max))
          << any.name << " " << setting.key;
    }
  }
}

TEST(OptimizerDescriptionTest, SlotsMeanTheSameToKindsThatShareThem) {
  const auto& adam = *FindOptimizer(v1::OPTIMIZER_KIND_ADAM);
  const auto& adamw = *FindOptimizer(v1::OPTIMIZER_KIND_ADAMW);
  EXPECT_EQ(adam.slots_of, adamw.slots_of);
  EXPECT_NE(adam.slots_of, FindOptimizer(v1::OPTIMIZER_KIND_SGD)->slots_of);
  EXPECT_NE(FindOptimizer(v1::OPTIMIZER_KIND_ADAGRAD)->slots_of,
            FindOptimizer(v1::OPTIMIZER_KIND_ROWWISE_ADAGRAD)->slots_of);
}

TEST(OptimizerNameTest, IsThatOfJobYamlOrElseThatOfTheProtocol) {
  EXPECT_EQ(OptimizerName(v1::OPTIMIZER_KIND_ROWWISE_ADAGRAD), "rowwise_adagrad");
  EXPECT_EQ(OptimizerName(v1::OPTIMIZER_KIND_RUNNING), "running") << "no job names it";
  EXPECT_EQ(OptimizerName(v1::OPTIMIZER_KIND_UNSPECIFIED), "unspecified");
}

TEST(OptimizerNameTest, OneThatOnlyAnotherProgramKnowsHasItsNumber) {
  EXPECT_EQ(OptimizerName(static_cast<v1::OptimizerKind>(kFirstKindOfOnesOwn + 77)), "kind 1077");
}

}  // namespace
}  // namespace capstan
