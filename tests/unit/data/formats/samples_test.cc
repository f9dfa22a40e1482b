#include "capstan/data/formats/samples.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "tests/unit/data/files.h"
#include "tests/unit/data/sample_files.h"

namespace capstan {
namespace {

TEST(SampleFormatTest, FilesOfSamplesAndFoldersHaveImages) {
  EXPECT_TRUE(IsSampleFormat(v1::DATA_FORMAT_TAR));
  EXPECT_TRUE(IsSampleFormat(v1::DATA_FORMAT_TFRECORD));
  EXPECT_FALSE(IsSampleFormat(v1::DATA_FORMAT_FOLDER)) << "each of its files is one image";
  EXPECT_TRUE(IsImageFormat(v1::DATA_FORMAT_FOLDER));
  EXPECT_TRUE(IsImageFormat(v1::DATA_FORMAT_TAR));
  for (const v1::DataFormat other :
       {v1::DATA_FORMAT_UNSPECIFIED, v1::DATA_FORMAT_CSV, v1::DATA_FORMAT_IDX,
        v1::DATA_FORMAT_PARQUET, v1::DATA_FORMAT_SYNTHETIC}) {
    EXPECT_FALSE(IsSampleFormat(other)) << other;
    EXPECT_FALSE(IsImageFormat(other)) << other;
  }
}

struct Stored {
  v1::DataFormat format;
  std::string first;
  std::string second;
  std::string end;
};

TEST(NewSampleStreamTest, ReadsTheFormatOfTheDataFromWhereverItsStreamBegins) {
  for (const Stored& stored :
       {Stored{v1::DATA_FORMAT_TAR, TarSample("1", "A", "3"), TarSample("2", "B", "4"), TarEnd()},
        Stored{v1::DATA_FORMAT_TFRECORD, TfRecord(TfExample("A", 3)), TfRecord(TfExample("B", 4)),
               ""}}) {
    v1::DataSpec data;
    data.set_format(stored.format);
    const auto whole =
        NewSampleStream(data, NewTextStream(stored.first + stored.second + stored.end, 7), {});
    Sample sample;
    ASSERT_TRUE(*whole->Next(sample)) << stored.format;
    EXPECT_EQ(sample.image, "A");
    EXPECT_EQ(sample.label, "3");
    ASSERT_TRUE(*whole->Next(sample)) << stored.format;
    EXPECT_EQ(sample.image, "B");
    EXPECT_FALSE(*whole->Next(sample)) << stored.format;

    const uint64_t begin = stored.first.size();
    const auto rest = NewSampleStream(data, NewTextStream(stored.second + stored.end, 7),
                                      {.first_byte = begin, .begin = begin, .at_sample = true});
    ASSERT_TRUE(*rest->Next(sample)) << stored.format;
    EXPECT_EQ(sample.image, "B");
    EXPECT_EQ(sample.error, "");
    EXPECT_FALSE(*rest->Next(sample)) << stored.format;
    EXPECT_GE(rest->offset(), begin + stored.second.size()) << "bytes of the file, not of the rest";
  }
}

}  // namespace
}  // namespace capstan
