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
constexpr uint32_t kUpdates = 3;

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

  // Some updates of `length` weights, all numbers times `scale`, on one target.
  void ExpectTheBitsOfTheScalarRule(int64_t target, size_t length, float scale) {
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    const v1::OptimizerSpec& spec = GetParam().spec;
    const auto optimizer = *MakeOptimizer(spec);
    const auto some_floats = [&](uint32_t seed) {
      std::vector<float> floats = SomeFloats(length, seed);
      for (float& value : floats) value *= scale;
      return floats;
    };
    OwnedParameters parameters(*optimizer, some_floats(1), spec.learning_rate());
    ScalarTwin<float> twin(spec, some_floats(1), spec.learning_rate());
    for (uint32_t update = 0; update < kUpdates; ++update) {
      const float rate = spec.learning_rate() / static_cast<float>(update + 1);
      optimizer->Apply(parameters.view(), Unaligned(some_floats(2 + update)).data(), rate);
      twin.Apply(some_floats(2 + update), rate);
    }
    ASSERT_EQ(0, std::memcmp(parameters.weights.data(), twin.weights.data(), length * 4))
        << hwy::TargetName(target) << ", length " << length;
  }
};

TEST_P(SimdTest, GivesTheBitsOfTheScalarRuleForEveryLengthOnEveryTarget) {
  for (int64_t target : Targets()) {
    for (size_t length = 1; length <= kLongest; ++length) {
      ASSERT_NO_FATAL_FAILURE(ExpectTheBitsOfTheScalarRule(target, length, /*scale=*/1));
    }
  }
}

TEST_P(SimdTest, FlushesNoDenormalToZeroOnAnyTarget) {
  for (int64_t target : Targets()) {
    for (float scale : {1e-38f, 1e-40f, 1e-44f}) {
      ASSERT_NO_FATAL_FAILURE(ExpectTheBitsOfTheScalarRule(target, kLongest, scale));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Optimizers, SimdTest, testing::ValuesIn(AllSpecs()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace capstan
