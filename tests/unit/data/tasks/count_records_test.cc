#include "capstan/data/tasks/count_records.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "tests/unit/data/files.h"
#include "tests/unit/data/sample_files.h"

namespace capstan {
namespace {

uint64_t Counted(v1::DataFormat format, const std::string& file, bool header = false,
                 Compression compression = Compression::kNone) {
  v1::DataSpec data;
  data.set_format(format);
  data.set_header(header);
  const auto count = CountRecords(*NewTextSource(file), "file", compression, data);
  EXPECT_TRUE(count.ok()) << count.status();
  return count.value_or(12345);
}

TEST(CountRecordsTest, EachLineBehindTheNamesCountsAlsoABlankOne) {
  EXPECT_EQ(Counted(v1::DATA_FORMAT_CSV, "a\n\nb"), 3u);
  EXPECT_EQ(Counted(v1::DATA_FORMAT_CSV, "a\n\nb\n"), 3u);
  EXPECT_EQ(Counted(v1::DATA_FORMAT_CSV, "names\na\n", /*header=*/true), 1u);
  EXPECT_EQ(Counted(v1::DATA_FORMAT_CSV, "names", /*header=*/true), 0u);
  EXPECT_EQ(Counted(v1::DATA_FORMAT_CSV, "", /*header=*/true), 0u);
  EXPECT_EQ(Counted(v1::DATA_FORMAT_LIBSVM, Gzip("a\nb\n"), false, Compression::kGzip), 2u);
  EXPECT_EQ(Counted(v1::DATA_FORMAT_TSV, Zstd("a\nb\n"), false, Compression::kZstd), 2u);
}

TEST(CountRecordsTest, ASampleIsARecordAlsoIfItIsDamaged) {
  const std::string tar = TarSample("1", "A", "1") + TarSample("2", "B", "2") + TarEnd();
  EXPECT_EQ(Counted(v1::DATA_FORMAT_TAR, tar), 2u);
  std::string records = TfRecord("one") + TfRecord("two");
  EXPECT_EQ(Counted(v1::DATA_FORMAT_TFRECORD, records), 2u);
  records.back() ^= 1;
  EXPECT_EQ(Counted(v1::DATA_FORMAT_TFRECORD, records), 2u);
}

TEST(CountRecordsTest, AFileThatEndsEarlyHasNoCount) {
  v1::DataSpec data;
  data.set_format(v1::DATA_FORMAT_CSV);
  const std::string file = Gzip("a\nb\n");
  const std::string cut = file.substr(0, file.size() - 3);
  EXPECT_EQ(CountRecords(*NewTextSource(cut), "file", Compression::kGzip, data).status().code(),
            absl::StatusCode::kDataLoss);
}

TEST(SampleRecordsTest, RecordsAreCountedUpToTheFirstThatEndsBehindTheWantedByte) {
  v1::DataSpec data;
  data.set_format(v1::DATA_FORMAT_CSV);
  const std::string text = "12345\n12345\n12345\n12345\n";
  const auto sampled = [&](uint64_t bytes) {
    return *SampleRecords(*NewTextSource(text), "file", Compression::kNone, data, bytes);
  };
  EXPECT_EQ(sampled(1).records, 1u);
  EXPECT_EQ(sampled(1).bytes, 6);
  EXPECT_EQ(sampled(10).records, 2u);
  EXPECT_EQ(sampled(10).bytes, 12);
  EXPECT_EQ(sampled(1000).records, 4u);
  EXPECT_EQ(sampled(1000).bytes, 24);
  EXPECT_EQ(sampled(0).records, 0u);
  data.set_header(true);
  EXPECT_EQ(sampled(10).records, 1u) << "the line of names is none";
  EXPECT_EQ(sampled(10).bytes, 6);
}

TEST(SampleRecordsTest, BytesOfCompressedRecordsAreThoseThatAreStored) {
  v1::DataSpec data;
  data.set_format(v1::DATA_FORMAT_CSV);
  const std::string file = Gzip("12345\n12345\n");
  const auto sampled =
      SampleRecords(*NewTextSource(file), "file", Compression::kGzip, data, uint64_t{1} << 20);
  ASSERT_TRUE(sampled.ok()) << sampled.status();
  EXPECT_EQ(sampled->records, 2u);
  EXPECT_EQ(sampled->bytes, static_cast<double>(file.size()));
}

}  // namespace
}  // namespace capstan
