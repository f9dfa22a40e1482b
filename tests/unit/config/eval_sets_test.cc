#include "capstan/config/eval_sets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

namespace capstan {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

v1::DataSpec HeldOut(const std::vector<std::string>& files) {
  v1::DataSpec data;
  data.set_format(v1::DATA_FORMAT_CSV);
  for (const std::string& file : files) data.add_eval(file);
  return data;
}

void AddSet(v1::DataSpec& data, const std::string& name, uint32_t files) {
  v1::EvalSet& set = *data.add_eval_sets();
  set.set_name(name);
  set.set_files(files);
}

TEST(HasHeldOutTest, SyntheticDataHaveRowsAndOthersFiles) {
  v1::DataSpec synthetic;
  synthetic.set_format(v1::DATA_FORMAT_SYNTHETIC);
  EXPECT_FALSE(HasHeldOut(synthetic));
  synthetic.mutable_synthetic()->set_eval_rows(1);
  EXPECT_TRUE(HasHeldOut(synthetic));
  EXPECT_TRUE(HasHeldOut(HeldOut({"a"})));
  v1::DataSpec none = HeldOut({});
  none.mutable_synthetic()->set_eval_rows(1000);  // The default that every job has.
  EXPECT_FALSE(HasHeldOut(none));
}

TEST(EvalSetsOfTest, WithoutNamesThereIsOneSetOfAllFiles) {
  const std::vector<EvalFiles> one = EvalSetsOf(HeldOut({"a", "b"}));
  ASSERT_EQ(one.size(), 1u);
  EXPECT_EQ(one[0].name, "");
  EXPECT_THAT(one[0].files, ElementsAre("a", "b"));
  ASSERT_EQ(EvalSetsOf(HeldOut({})).size(), 1u);
  EXPECT_THAT(EvalSetsOf(HeldOut({}))[0].files, IsEmpty());
}

TEST(EvalSetsOfTest, EachSetHasItsOwnFilesInTheirOrder) {
  v1::DataSpec data = HeldOut({"a", "b", "c"});
  AddSet(data, "day", 2);
  AddSet(data, "night", 1);
  const std::vector<EvalFiles> sets = EvalSetsOf(data);
  ASSERT_EQ(sets.size(), 2u);
  EXPECT_EQ(sets[0].name, "day");
  EXPECT_THAT(sets[0].files, ElementsAre("a", "b"));
  EXPECT_EQ(sets[1].name, "night");
  EXPECT_THAT(sets[1].files, ElementsAre("c"));
}

TEST(EvalSetsOfTest, ASetThatClaimsMoreFilesThanThereAreHasTheRest) {
  v1::DataSpec data = HeldOut({"a"});
  AddSet(data, "day", 4'000'000'000);
  AddSet(data, "night", 1);
  const std::vector<EvalFiles> sets = EvalSetsOf(data);
  ASSERT_EQ(sets.size(), 2u);
  EXPECT_THAT(sets[0].files, ElementsAre("a"));
  EXPECT_THAT(sets[1].files, IsEmpty());
}

}  // namespace
}  // namespace capstan
