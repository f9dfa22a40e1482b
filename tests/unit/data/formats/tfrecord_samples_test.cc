// TFRecord, and tf.train.Example within.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "capstan/data/formats/tf_example.h"
#include "tests/unit/data/sample_files.h"

namespace capstan {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<std::string> InRecords(const std::string& file, const v1::ImageSpec& image = {}) {
  return SamplesOf(v1::DATA_FORMAT_TFRECORD, file, {}, image);
}

std::string Records(int count) {
  std::string file;
  for (int i = 0; i < count; ++i) {
    file += TfRecord(TfExample("image" + std::string(i * 7 % 30, '\0') + std::to_string(i), i));
  }
  return file;
}

TEST(TfRecordSamplesTest, EachRecordIsAnExampleWithImageAndLabel) {
  EXPECT_THAT(InRecords(TfRecord(TfExample("A", 3)) + TfRecord(TfExample("BB", 300))),
              ElementsAre("A:3", "BB:300"));
}

TEST(TfRecordSamplesTest, TheLayoutIsThatOfTensorFlow) {
  // tf.io.TFRecordWriter of an Example without features: an empty message.
  const std::string file("\0\0\0\0\0\0\0\0\x29\x03\x98\x07\xD8\xEA\x82\xA2", 16);
  EXPECT_THAT(InRecords(file), ElementsAre("record at byte 0: has no feature \"image/encoded\""));
  EXPECT_EQ(TfRecord(""), file);
}

TEST(TfRecordSamplesTest, TheJobSaysWhichFeaturesItMeans) {
  v1::ImageSpec image;
  image.set_image_member("image/format");
  image.set_label_member("image/encoded");
  EXPECT_THAT(InRecords(TfRecord(TfExample("A", 3)), image), ElementsAre("png:A"));
}

TEST(TfRecordSamplesTest, EveryCutGivesEachRecordToOneOfItsRanges) {
  const std::string file = Records(6);
  const std::vector<std::string> whole = InRecords(file);
  ASSERT_EQ(whole.size(), 6u);
  for (uint64_t one = 1; one < file.size(); ++one) {
    EXPECT_EQ(SamplesOfParts(v1::DATA_FORMAT_TFRECORD, file, {one, file.size()}), whole) << one;
    const uint64_t two = one + (file.size() - one) / 2;
    EXPECT_EQ(SamplesOfParts(v1::DATA_FORMAT_TFRECORD, file, {one, two, file.size()}), whole);
  }
}

TEST(TfRecordSamplesTest, CanBeReadFromWhereverARecordBegins) {
  std::string file = Records(6);
  EXPECT_EQ(BeginsThatGiveTheRest(v1::DATA_FORMAT_TFRECORD, file), 6);
  file[TfRecord(TfExample("image0", 0)).size()] ^= 1;  // The length of the second one.
  EXPECT_EQ(BeginsThatGiveTheRest(v1::DATA_FORMAT_TFRECORD, file), 6);
}

TEST(TfRecordSamplesTest, DamageCostsTheRecordThatItIsIn) {
  const std::string file = Records(3);
  const size_t second = TfRecord(TfExample("image0", 0)).size();
  std::string damaged = file;
  damaged[second + 20] ^= 1;
  const std::string place = "record at byte " + std::to_string(second);
  EXPECT_THAT(
      InRecords(damaged),
      ElementsAre("image0:0", place + ": its data do not fit their checksum", HasSubstr(":2")));
  damaged = file;
  damaged[second] ^= 1;
  EXPECT_THAT(
      InRecords(damaged),
      ElementsAre("image0:0", place + ": its length does not fit its checksum", HasSubstr(":2")));
  for (uint64_t cut = 1; cut < file.size(); ++cut) {
    EXPECT_EQ(SamplesOfParts(v1::DATA_FORMAT_TFRECORD, damaged, {cut, file.size()}),
              InRecords(damaged))
        << cut;
  }
}

TEST(TfRecordSamplesTest, AFileThatEndsWithinARecordSaysSo) {
  const std::string file = Records(2);
  const size_t second = TfRecord(TfExample("image0", 0)).size();
  EXPECT_THAT(InRecords(file.substr(0, second + 5)),
              ElementsAre("image0:0", HasSubstr("the file ends within it")));
  EXPECT_THAT(InRecords(file.substr(0, second + 30)),
              ElementsAre("image0:0", HasSubstr("the file ends within it, after 18 of")));
  EXPECT_THAT(InRecords(file.substr(0, second)), ElementsAre("image0:0"));
}

TEST(TfRecordSamplesTest, WhatIsNoExampleIsTold) {
  EXPECT_THAT(InRecords(TfRecord("\x0A\x7F")),
              ElementsAre("record at byte 0: is no tf.train.Example"));
  EXPECT_THAT(InRecords("some text that is longer than a front"),
              ElementsAre("record at byte 0: its length does not fit its checksum"));
  EXPECT_THAT(InRecords(""), IsEmpty());
}

TEST(FindFeaturesTest, TakesNumbersPackedOrNot) {
  // label: Int64List of -1, not packed; score: FloatList of .5, packed.
  const std::string minus_one = "\x08" + std::string(9, '\xFF') + "\x01";
  const auto entry = [](const std::string& name, const std::string& list) {
    const std::string feature = "\x12" + std::string(1, static_cast<char>(list.size())) + list;
    const std::string content =
        "\x0A" + std::string(1, static_cast<char>(name.size())) + name + feature;
    return "\x0A" + std::string(1, static_cast<char>(content.size())) + content;
  };
  const std::string features = entry("label", "\x1A\x0B" + minus_one) +
                               entry("score", std::string("\x12\x06\x0A\x04\0\0\0\x3F", 8));
  const std::string message =
      "\x0A" + std::string(1, static_cast<char>(features.size())) + features;
  TwoFeatures found;
  ASSERT_TRUE(FindFeatures(message, "label", "score", found));
  EXPECT_EQ(std::get<int64_t>(*found.first), -1);
  EXPECT_EQ(std::get<float>(*found.second), 0.5f);
  ASSERT_TRUE(FindFeatures(message, "none", "score", found));
  EXPECT_FALSE(found.first.has_value());
}

TEST(FindFeaturesTest, WhateverTheBytesAreTheyAreReadOrRefused) {
  const std::string message = TfExample("image", 5);
  TwoFeatures found;
  for (size_t size = 1; size < message.size(); ++size) {
    EXPECT_FALSE(FindFeatures(message.substr(0, size), "image/encoded", "label", found)) << size;
  }
  for (size_t i = 0; i < message.size(); ++i) {
    std::string damaged = message;
    damaged[i] ^= '\x7F';
    (void)FindFeatures(damaged, "image/encoded", "image/class/label", found);
  }
}

}  // namespace
}  // namespace capstan
