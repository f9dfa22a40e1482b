#include "capstan/store/admission.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace capstan {
namespace {

constexpr size_t kMany = 1000;

TEST(AdmissionTest, AdmitsAtOnceUnlessACountIsAskedFor) {
  EXPECT_TRUE(Admission(0).Admit(7, 1, kMany));
  EXPECT_TRUE(Admission(1).Admit(7, 1, kMany));
  EXPECT_FALSE(Admission(2).Admit(7, 1, kMany));
}

TEST(AdmissionTest, AdmitsWithTheNthPushAndForgetsTheCandidate) {
  Admission admission(3);
  EXPECT_FALSE(admission.Admit(7, 2, kMany));
  EXPECT_TRUE(admission.contains(7));
  EXPECT_TRUE(admission.Admit(7, 1, kMany));
  EXPECT_FALSE(admission.contains(7));
}

TEST(AdmissionTest, ForgetsTheSeldomSeenWhenThereAreTooManyCandidates) {
  Admission admission(4);
  for (int i = 0; i < 3; ++i) admission.Admit(1, 1, 10);
  for (uint64_t key = 100; key < 110; ++key) admission.Admit(key, 1, 10);
  EXPECT_EQ(admission.InOrderOfKeys().size(), 1u);  // The eleventh made all lose one.
  EXPECT_TRUE(admission.Admit(1, 2, 10));
}

TEST(AdmissionTest, StaysBoundedWhateverComes) {
  Admission admission(100);
  for (uint64_t i = 0; i < 100'000; ++i) admission.Admit(i % 777, 1, 500);
  EXPECT_LE(admission.InOrderOfKeys().size(), 500u);
}

}  // namespace
}  // namespace capstan
