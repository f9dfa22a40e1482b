#include "capstan/config/findings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace capstan {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

std::string Lines(const Findings& findings) { return std::string(findings.status().message()); }

TEST(FindingsTest, WithoutAMistakeAllIsGood) {
  Findings findings("job.yaml");
  EXPECT_FALSE(findings.Has("train"));
  EXPECT_TRUE(findings.Place("train", "job.yaml:3"));
  EXPECT_TRUE(findings.Has("train"));
  EXPECT_TRUE(findings.status().ok());
}

TEST(FindingsTest, AMistakeStandsWhereItsKeyOrTheNearestSectionAroundItStands) {
  Findings findings("job.yaml");
  findings.Place("train", "job.yaml:3");
  findings.Place("train.batch_size", "job.yaml:4");
  findings.Place("model.towers", "job.yaml:7");
  findings.Place("model.towers[1]", "job.yaml:9");
  findings.Refuse("train.batch_size", "is bad");
  findings.Refuse("train.epochs.of.day", "is missing");
  findings.Refuse("model.towers[1].kind", "is missing");
  findings.Refuse("model.towers[10].kind", "is missing");
  findings.Refuse("training", "is unknown");
  findings.Refuse("", "is empty");
  EXPECT_EQ(Lines(findings),
            "job.yaml:4: train.batch_size: is bad\n"
            "job.yaml:3: train.epochs.of.day: is missing\n"
            "job.yaml:9: model.towers[1].kind: is missing\n"
            "job.yaml:7: model.towers[10].kind: is missing\n"
            "job.yaml: training: is unknown\n"
            "job.yaml: is empty");
  EXPECT_TRUE(absl::IsInvalidArgument(findings.status()));
}

TEST(FindingsTest, APlaceThatIsNotedAgainIsTheLaterOne) {
  Findings findings("job.yaml");
  EXPECT_TRUE(findings.Place("train", "job.yaml:3"));
  EXPECT_FALSE(findings.Place("train", "--set"));
  findings.Refuse("train", "is bad");
  EXPECT_EQ(Lines(findings), "--set: train: is bad");
}

TEST(FindingsTest, AKeyOfTheFileForgesNoLine) {
  Findings findings("job.yaml");
  findings.RefuseAt("job.yaml:2", "a\njob.yaml:1: b", "is unknown");
  EXPECT_EQ(Lines(findings), "job.yaml:2: a\\njob.yaml:1: b: is unknown");
}

TEST(FindingsTest, TwentyMistakesAreShownAndTheOthersCounted) {
  Findings twenty("job.yaml");
  Findings more("job.yaml");
  for (int i = 1; i <= 20; ++i) twenty.Refuse(absl::StrCat("key", i), "is bad");
  for (int i = 1; i <= 23; ++i) more.Refuse(absl::StrCat("key", i), "is bad");
  const std::string lines = Lines(twenty);
  EXPECT_EQ(std::count(lines.begin(), lines.end(), '\n'), 19);
  EXPECT_THAT(lines, Not(HasSubstr("more mistakes")));
  EXPECT_EQ(Lines(more), lines + "\njob.yaml: and 3 more mistakes");
}

TEST(FindingsTest, KeysAreListedOnlyWhereThatIsThePurpose) {
  Findings reads("job.yaml");
  reads.Ask("a");
  reads.Describe({.key = "b", .values = "text"});
  reads.SetValues("b", "others");
  reads.SetDefault("b", "c");
  EXPECT_THAT(reads.keys(), IsEmpty());
}

TEST(FindingsTest, TheFirstWayInWhichAKeyIsReadCounts) {
  Findings lists("job.yaml", Findings::Purpose::kListKeys);
  lists.Ask("train.epochs");
  EXPECT_EQ(lists.keys().at("train.epochs").key, "train.epochs");
  lists.Describe({.key = "train.epochs", .values = "1 to 9", .default_value = "1"});
  lists.Describe({.key = "train.epochs", .values = "text"});
  EXPECT_EQ(lists.keys().at("train.epochs").values, "1 to 9") << "that it was asked for is no way";
  lists.SetDefault("train.epochs", "of the preset");
  lists.SetValues("train.epochs", "odd numbers");
  EXPECT_EQ(lists.keys().at("train.epochs").default_value, "of the preset");
  EXPECT_EQ(lists.keys().at("train.epochs").values, "odd numbers");
}

}  // namespace
}  // namespace capstan
