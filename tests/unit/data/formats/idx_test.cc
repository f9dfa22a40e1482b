#include "capstan/data/formats/idx.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/lib/test_folder.h"
#include "tests/unit/data/files.h"

namespace capstan {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string Header(std::initializer_list<uint32_t> sizes) {
  std::string bytes = {0, 0, 8, static_cast<char>(sizes.size())};
  for (uint32_t size : sizes) {
    for (int shift = 24; shift >= 0; shift -= 8) bytes.push_back(static_cast<char>(size >> shift));
  }
  return bytes;
}

// `count` images of 2 x 3 whose pixels count up.
std::string Images(uint32_t count) {
  std::string bytes = Header({count, 2, 3});
  for (uint32_t i = 0; i < count * 6; ++i) bytes.push_back(static_cast<char>(i));
  return bytes;
}

std::string LabelFile(uint32_t count) {
  std::string bytes = Header({count});
  for (uint32_t i = 0; i < count; ++i) bytes.push_back(static_cast<char>(i % 10));
  return bytes;
}

ReaderOptions Options(const std::string& pattern) {
  v1::DataSpec data;
  data.set_format(v1::DATA_FORMAT_IDX);
  data.add_train(pattern);
  ReaderOptions options = *Derived(data);
  options.loss = v1::LOSS_SOFTMAX;
  options.classes = 10;
  return options;
}

TEST(IdxTest, FindsTheLabelsByNameAndScalesThePixels) {
  TestFolder folder;
  folder.Write("a-images-idx3-ubyte.gz", Gzip(Images(20)));
  folder.Write("a-labels-idx1-ubyte.gz", Gzip(LabelFile(20)));
  const ReaderOptions options = Options(folder.Path("a-images-idx3-ubyte.gz"));
  EXPECT_THAT(options.data.image_shape(), ElementsAre(2, 3));
  EXPECT_EQ(options.data.dense_width(), 6u);
  const absl::StatusOr<Batch> batch = ReadEverything(options);
  ASSERT_TRUE(batch.ok()) << batch.status();
  ASSERT_EQ(batch->examples(), 20u);
  EXPECT_EQ(batch->labels[13], 3);
  EXPECT_EQ(batch->DenseOf(13)[5], (13 * 6 + 5) * (1.0f / 255));
  EXPECT_TRUE(batch->keys.empty());
}

TEST(IdxTest, AcceptsBothFilesNamedInOrder) {
  TestFolder folder;
  folder.Write("pixels", Images(20));
  folder.Write("truth", LabelFile(20));
  ReaderOptions options = Options(folder.Path("pixels"));
  options.data.add_train(folder.Path("truth"));
  EXPECT_EQ(ReadEverything(options)->examples(), 20u);
}

TEST(IdxTest, WhatIsScoredNeedsNoLabelsAndThoseThatAreThereMayBeAnything) {
  TestFolder folder;
  folder.Write("images", Images(20));
  ReaderOptions options = Options(folder.Path("images"));
  options.classes = 9;
  options.labels = Labels::kIgnored;
  EXPECT_EQ(ReadEverything(options)->labels, std::vector<float>(20));
  folder.Write("labels", LabelFile(20));
  EXPECT_EQ(ReadEverything(options)->labels, std::vector<float>(20));
  folder.Write("more labels", LabelFile(3));
  options.data.add_train(folder.Path("more labels"));
  EXPECT_EQ(ReadEverything(options)->examples(), 20u);
}

TEST(IdxTest, ABadLabelIsABadRecord) {
  TestFolder folder;
  folder.Write("images", Images(20));
  folder.Write("labels", LabelFile(20));
  ReaderOptions options = Options(folder.Path("images"));
  options.classes = 9;
  EXPECT_EQ(ReadEverything(options).status(),
            absl::InvalidArgumentError(folder.Path("labels") +
                                       ": item 9: label is 9, expected a class, 0 to 8"));
}

void ExpectRefused(const TestFolder& folder, const std::string& images, const std::string& labels,
                   const std::string& message) {
  folder.Write("images", images);
  folder.Write("labels", labels);
  v1::DataSpec data;
  data.set_format(v1::DATA_FORMAT_IDX);
  data.add_train(folder.Path("images"));
  absl::StatusOr<ReaderOptions> options = Derived(data);
  if (options.ok()) options->loss = v1::LOSS_SOFTMAX;
  absl::Status status = options.ok() ? ReadEverything(*options).status() : options.status();
  EXPECT_THAT(std::string(status.message()), HasSubstr(message));
}

TEST(IdxTest, NamesFileAndByteOfWhatIsNoIdx) {
  TestFolder folder;
  ExpectRefused(folder, "", "", "images: byte 0: the file ends early");
  ExpectRefused(folder, "hello world", "", "images: byte 0: expected the header of an idx file");
  ExpectRefused(folder, Header({5, 100000, 100000}), "", "images: byte 12: an item of 10000000000");
  ExpectRefused(folder, Images(20), LabelFile(19), "labels: expected 20 labels");
  ExpectRefused(folder, Images(20).substr(0, 50), LabelFile(20),
                "images: byte 50: the file ends early");
  ExpectRefused(folder, LabelFile(20), LabelFile(20), "images: holds no images");
}

}  // namespace
}  // namespace capstan
