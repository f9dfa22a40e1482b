#include "capstan/data/tasks/image_intake.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/unit/image/encode.h"

namespace capstan {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string SmallPng() { return EncodePng(Plain({4, 4}, 1, 100)); }

class ImageIntakeTest : public testing::Test {
 protected:
  ImageIntakeTest() {
    options_.data.set_format(v1::DATA_FORMAT_TAR);
    options_.data.mutable_image()->set_width(4);
    options_.data.mutable_image()->set_height(4);
    options_.data.mutable_image()->set_channels(1);
    options_.loss = v1::LOSS_SOFTMAX;
    options_.classes = 3;
  }

  // Takes the samples; what becomes of them is in records_, images_ and the result.
  BadRecords Take(const std::vector<Sample>& samples) {
    BadRecords bad(100);
    ImageIntake intake(options_, bad);
    for (const Sample& sample : samples) {
      EXPECT_TRUE(intake.Take("a.tar", sample, records_, images_).ok());
    }
    return bad;
  }

  ReaderOptions options_;
  Batch records_;
  TaskImages images_{v1::DataSpec(), ImageDraws()};
};

TEST_F(ImageIntakeTest, ASampleBecomesALabelAndAnImage) {
  const BadRecords bad = Take({{.image = SmallPng(), .label = " 2", .has_label = true},
                               {.image = "not looked at", .label = "0", .has_label = true}});
  EXPECT_EQ(bad.count(), 0u);
  EXPECT_THAT(records_.labels, ElementsAre(2, 0));
  EXPECT_EQ(records_.offsets.size(), 2u);
  EXPECT_EQ(images_.size(), 2u);
}

TEST_F(ImageIntakeTest, WhatIsWrongIsToldWithFileAndPlaceAndLeavesNothingBehind) {
  const BadRecords bad = Take({{.place = "sample 1", .error = "the file ends within it"},
                               {.place = "sample 2", .image = SmallPng()},
                               {.image = SmallPng(), .label = "3", .has_label = true},
                               {.image = SmallPng(), .label = "", .has_label = true}});
  ASSERT_EQ(bad.count(), 4u);
  EXPECT_EQ(bad.examples()[0], "a.tar: sample 1: the file ends within it");
  EXPECT_EQ(bad.examples()[1],
            "a.tar: sample 2: has no label (a member that ends in cls, next to its image)");
  EXPECT_EQ(bad.examples()[2], "a.tar: label is 3, expected a class, 0 to 2");
  EXPECT_THAT(bad.examples()[3], HasSubstr("a.tar: label \"\" is not a number"));
  EXPECT_TRUE(records_.labels.empty());
  EXPECT_TRUE(records_.offsets.empty());
  EXPECT_EQ(images_.size(), 0u);
}

TEST_F(ImageIntakeTest, ImagesAreDecodedWhereBadRecordsAreToleratedOrItIsAsked) {
  const std::vector<Sample> damaged = {{.image = "GIF", .label = "1", .has_label = true}};
  EXPECT_EQ(Take(damaged).count(), 0u);
  options_.images = ImageCheck::kAlways;
  EXPECT_THAT(Take(damaged).examples(),
              ElementsAre("a.tar: the image is neither a JPEG nor a PNG"));
  options_.images = ImageCheck::kTolerated;
  options_.data.set_max_bad_records(1);
  EXPECT_EQ(Take(damaged).count(), 1u);
  options_.images = ImageCheck::kNever;
  EXPECT_EQ(Take(damaged).count(), 0u);
}

TEST_F(ImageIntakeTest, WhatIsScoredNeedsNoLabelAndItsLabelMayBeAnything) {
  options_.labels = Labels::kIgnored;
  const BadRecords bad =
      Take({{.image = SmallPng()}, {.image = SmallPng(), .label = "anything", .has_label = true}});
  EXPECT_EQ(bad.count(), 0u);
  EXPECT_THAT(records_.labels, ElementsAre(0, 0));
}

TEST_F(ImageIntakeTest, TheErrorOfTooManyBadRecordsEndsTheTask) {
  BadRecords none(0);
  ImageIntake intake(options_, none);
  EXPECT_EQ(intake.Take("a.tar", {.place = "sample 1"}, records_, images_),
            absl::InvalidArgumentError(
                "a.tar: sample 1: has no label (a member that ends in cls, next to its image)"));
}

TEST_F(ImageIntakeTest, TheEndOfALineBelongsToNoLabel) {
  const BadRecords bad = Take({{.image = SmallPng(), .label = "1\n", .has_label = true},
                               {.image = SmallPng(), .label = "2\r\n", .has_label = true}});
  EXPECT_EQ(bad.count(), 0u);
  EXPECT_THAT(records_.labels, ElementsAre(1, 2));
}

TEST_F(ImageIntakeTest, ALabelThatIsMissingIsToldWithItsPlace) {
  options_.data.mutable_image()->set_label_member("class");
  EXPECT_THAT(Take({{.image = SmallPng()}}).examples(),
              ElementsAre(HasSubstr("(a member that ends in class, next to its image)")));
  options_.data.set_format(v1::DATA_FORMAT_TFRECORD);
  EXPECT_THAT(Take({{.image = SmallPng()}}).examples(),
              ElementsAre(HasSubstr("has no label (the feature class)")));
}

}  // namespace
}  // namespace capstan
