// The SIMD kernels against the scalar twin: bit-equal for every length, on every target this
// processor has.
#include <cstring>

#include "capstan/optim/optimizer.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "hwy/highway.h"
#include "tests/unit/optim/scalar_twin.h"
#include "tests/unit/optim/specs.h"

namespace capstan {
namespace {

constexpr size_t kLongest = 257;
constexpr int kUpdates = 3;

// Copies of values that begin one byte off any alignment of floats.
class Unaligned {
 public:
  explicit Unaligned(const std::vector<float>& values) : bytes_(values.size() * 4 + 1) {
    std::memcpy(bytes_.data() + 1, values.data(), values.size() * 4);
  }
  const void* data() const { return bytes_.data() + 1; }

 private:
  std::vector<char> bytes_;
};

std::vector<int64_t> Targets() {
  std::vector<int64_t> targets;
  for (int64_t rest = hwy::SupportedTargets() & HWY_TARGETS; rest != 0; rest &= rest - 1) {
    targets.push_back(rest & -rest);
  }
  return targets;
}

class SimdTest : public testing::TestWithParam<NamedSpec> {
 protected:
  ~SimdTest() override { hwy::SetSupportedTargetsForTest(0); }
};

TEST_P(SimdTest, GivesTheBitsOfTheScalarRuleForEveryLengthOnEveryTarget) {
  const v1::OptimizerSpec& spec = GetParam().spec;
  const auto optimizer = *MakeOptimizer(spec);
  for (int64_t target : Targets()) {
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    for (size_t length = 1; length <= kLongest; ++length) {
      const std::vector<float> initial = SomeFloats(length, /*seed=*/1);
      OwnedParameters parameters(*optimizer, initial, spec.learning_rate());
      ScalarTwin<float> twin(spec, initial, spec.learning_rate());
      for (int update = 0; update < kUpdates; ++update) {
        const std::vector<float> gradient = SomeFloats(length, /*seed=*/2 + update);
        const float rate = spec.learning_rate() / (update + 1);
        optimizer->Apply(parameters.view(), Unaligned(gradient).data(), rate);
        twin.Apply(gradient, rate);
      }
      ASSERT_EQ(0, std::memcmp(parameters.weights.data(), twin.weights.data(), length * 4))
          << hwy::TargetName(target) << ", length " << length;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Optimizers, SimdTest, testing::ValuesIn(AllSpecs()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace capstan
