#include "capstan/data/tasks/task_images.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "tests/unit/image/encode.h"

namespace capstan {
namespace {

using testing::Each;
using testing::StartsWith;

v1::DataSpec TwoByThree() {
  v1::DataSpec data;
  data.set_numeric_scale(0.5F);
  data.mutable_image()->set_width(2);
  data.mutable_image()->set_height(3);
  data.mutable_image()->set_channels(1);
  return data;
}

TEST(TaskImagesTest, EachImageIsAppendedAsItsScaledPixels) {
  TaskImages images(TwoByThree(), {});
  for (const int grey : {10, 20}) {
    ASSERT_TRUE(
        images.Add("a place", EncodePng(Plain({2, 3}, 1, static_cast<uint8_t>(grey)))).ok());
  }
  EXPECT_EQ(images.size(), 2u);
  TaskImages::Reader reader(images);
  std::vector<float> dense = {1};
  ASSERT_TRUE(reader.AppendTo(1, dense).ok());
  ASSERT_EQ(dense.size(), 7u);
  EXPECT_THAT(std::vector<float>(dense.begin() + 1, dense.end()), Each(10));
  dense.clear();
  ASSERT_TRUE(reader.AppendTo(0, dense).ok());
  EXPECT_THAT(dense, Each(5));
}

TEST(TaskImagesTest, AnImageThatCannotBeDecodedIsNamedByItsPlace) {
  TaskImages images(TwoByThree(), {});
  ASSERT_TRUE(images.Add("first", "").ok());
  ASSERT_TRUE(images.Add("a.tar: sample 2", EncodePng(Plain({2, 3}, 1, 1)).substr(0, 40)).ok());
  TaskImages::Reader reader(images);
  std::vector<float> dense;
  EXPECT_EQ(reader.AppendTo(0, dense),
            absl::InvalidArgumentError("first: the image is neither a JPEG nor a PNG"));
  const absl::Status cut = reader.AppendTo(1, dense);
  EXPECT_EQ(cut.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(cut.message()), StartsWith("a.tar: sample 2: PNG: "));
  EXPECT_TRUE(dense.empty());
}

// Of 16 images about half are mirrored, and in another epoch other ones.
TEST(TaskImagesTest, WhichImagesAreMirroredIsDrawnForEachEpochAndOnlyInTraining) {
  v1::DataSpec data = TwoByThree();
  data.mutable_image()->set_random_flip(true);
  Pixels pixels = Plain({2, 3}, 1, 0);
  pixels.bytes[0] = 200;
  const std::string encoded = EncodePng(pixels);
  const auto mirrored = [&](const ImageDraws& draws) {
    TaskImages images(data, draws);
    for (int i = 0; i < 16; ++i) EXPECT_TRUE(images.Add("", encoded).ok());
    TaskImages::Reader reader(images);
    std::set<size_t> places;
    for (size_t i = 0; i < 16; ++i) {
      std::vector<float> dense;
      EXPECT_TRUE(reader.AppendTo(i, dense).ok());
      if (dense.size() == 6 && dense[1] == 100) places.insert(i);
    }
    return places;
  };
  const std::set<size_t> first = mirrored({.training = true, .seed = 1, .stream = 2});
  EXPECT_GT(first.size(), 2u);
  EXPECT_LT(first.size(), 14u);
  EXPECT_EQ(mirrored({.training = true, .seed = 1, .stream = 2}), first);
  EXPECT_NE(mirrored({.training = true, .seed = 1, .stream = 3}), first);
  EXPECT_TRUE(mirrored({.training = false, .seed = 1, .stream = 2}).empty());
}

}  // namespace
}  // namespace capstan
