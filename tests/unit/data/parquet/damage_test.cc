// Damaged files are refused, and take neither much time nor memory.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "capstan/data/parquet/codecs.h"
#include "capstan/data/parquet/metadata.h"
#include "capstan/data/parquet/page_header.h"
#include "capstan/data/parquet/ranged_file.h"
#include "capstan/data/parquet/thrift_reader.h"
#include "tests/lib/test_folder.h"
#include "tests/unit/data/files.h"
#include "tests/unit/data/parquet/table.h"

namespace capstan::parquet {
namespace {

using testing::HasSubstr;

// Reads `content` as the table would be.
absl::StatusOr<Batch> ReadTable(const TestFolder& folder, const std::string& content) {
  v1::DataSpec data = TableSpec("plain-none-v1.parquet");
  data.set_train(0, folder.Write("table.parquet", content));
  absl::StatusOr<ReaderOptions> options = Derived(std::move(data));
  return options.ok() ? ReadEverything(*options) : options.status();
}

TEST(DamageTest, NoShorterFileIsRead) {
  const TestFolder folder;
  const std::string file = ReadFile(GoldenPath("dictionary-gzip-v2.parquet"));
  for (size_t size = 0; size < file.size(); size += 1 + size / 40) {
    const auto read = ReadTable(folder, file.substr(0, size));
    EXPECT_FALSE(read.ok()) << size;
  }
  EXPECT_THAT(std::string(ReadTable(folder, file.substr(0, 900)).status().message()),
              HasSubstr("is it truncated?"));
}

TEST(DamageTest, AnotherByteIsNoticedWherePagesHaveChecksums) {
  const TestFolder folder;
  const std::string file = ReadFile(GoldenPath("dictionary-snappy-v1.parquet"));
  const auto whole = ReadTable(folder, file);
  ASSERT_TRUE(whole.ok()) << whole.status();
  int checksums = 0;
  for (size_t at = 4; at + 2000 < file.size(); at += 97) {
    std::string damaged = file;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x10);
    const auto read = ReadTable(folder, damaged);
    if (read.ok()) {  // It was in a column that is not read.
      EXPECT_TRUE(*read == *whole) << at;
    }
    checksums += absl::StrContains(read.status().message(), "the checksum of a page is another");
  }
  EXPECT_GT(checksums, 20);
}

TEST(DamageTest, AFooterThatDoesNotFitIsRefused) {
  const TestFolder folder;
  std::string file = ReadFile(GoldenPath("plain-none-v1.parquet"));
  file.replace(file.size() - 8, 4, "\xff\xff\xff\x7f");
  EXPECT_THAT(std::string(ReadTable(folder, file).status().message()),
              HasSubstr("its footer of 2147483647 bytes does not fit"));
  EXPECT_THAT(std::string(ReadTable(folder, "a,b,c\n1,2,3\n4,5,6\n").status().message()),
              HasSubstr("is no Parquet file; it looks like cells with commas"));
}

TEST(DamageTest, AnEmptyFileIsCalledEmpty) {
  const TestFolder folder;
  EXPECT_THAT(std::string(ReadTable(folder, "").status().message()),
              HasSubstr(": is empty; expected a Parquet file"));
}

TEST(DamageTest, ADeclaredSizeTakesNoMemoryAhead) {
  constexpr uint64_t kDeclared = (uint64_t{1} << 31) - 1;
  for (const Codec codec :
       {Codec::kNone, Codec::kSnappy, Codec::kGzip, Codec::kZstd, Codec::kLz4Raw}) {
    std::vector<char> bytes;
    EXPECT_FALSE(Decompress(static_cast<int64_t>(codec), "abcdefgh", kDeclared, bytes).ok());
    EXPECT_LE(bytes.capacity(), size_t{2} << 20) << static_cast<int>(codec);
  }
  const TestFolder folder;
  const std::unique_ptr<const Source> files = NewLocalFiles();
  RangedFile file(*files, {folder.Write("short", "0123456789"), kDeclared});
  std::vector<char> bytes;
  EXPECT_THAT(std::string(file.Read(4, kDeclared - 4, bytes).message()), HasSubstr("truncated"));
  EXPECT_LE(bytes.capacity(), size_t{2} << 20);
}

TEST(DamageTest, AListOfThriftIsNotTakenAtItsWord) {
  // Field 2, a list of 2^31 structs, of which nothing follows.
  const std::string footer = {0x29,
                              static_cast<char>(0xFC),
                              static_cast<char>(0xFF),
                              static_cast<char>(0xFF),
                              static_cast<char>(0xFF),
                              static_cast<char>(0xFF),
                              0x07};
  EXPECT_FALSE(ParseFooter(footer, 100).ok());
  const std::string structs(100, 0x1C);  // A struct in a struct in a struct ...
  ThriftReader deep(structs);
  ThriftField field;
  ASSERT_TRUE(deep.Next(field));
  deep.Skip(field);
  EXPECT_TRUE(deep.failed());
}

TEST(DamageTest, AHeaderOfAPageThatGoesOnIsToldFromOneThatIsNone) {
  PageHeader header;
  EXPECT_EQ(ParsePageHeader(std::string_view("\x15\x00\x15", 3), header), Parsed::kNeedsMore);
  EXPECT_EQ(ParsePageHeader("\x1f", header), Parsed::kMalformed);
  EXPECT_EQ(ParsePageHeader(std::string_view("\x15\x00\x15\x10\x15\x10\x00", 7), header),
            Parsed::kYes);
  EXPECT_EQ(header.bytes, 8u);
}

}  // namespace
}  // namespace capstan::parquet
