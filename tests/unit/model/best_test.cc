#include <gtest/gtest.h>

#include <string>

#include "capstan/model/kernels/kernels.h"

namespace capstan::kernels {
namespace {

TEST(KernelsTest, KernelsAreFoundByTheirNameAndOthersAreNot) {
  ASSERT_NE(Find("baseline"), nullptr);
  EXPECT_EQ(Find("baseline")->name, std::string("baseline"));
  for (const char* name : {"", "avx", "avx1024", "Baseline", "baseline2"}) {
    EXPECT_EQ(Find(name), nullptr) << name;
  }
}

TEST(KernelsTest, TheBestAreThoseOfTheWidestVectorsThatTheCpuHas) {
  const Kernels* expected = Find("baseline");
  for (const char* name : {"avx2", "avx512"}) {
    if (Find(name) != nullptr) expected = Find(name);
  }
  EXPECT_EQ(&Best(), expected);
}

}  // namespace
}  // namespace capstan::kernels
