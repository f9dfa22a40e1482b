#include "capstan/data/formats/compression.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/lib/test_folder.h"
#include "tests/unit/data/files.h"

namespace capstan {
namespace {

using testing::HasSubstr;

std::string LongText() {
  std::string text;
  for (int i = 0; i < 200000; ++i) text += std::to_string(i * 7919) + "\n";
  return text;
}

absl::StatusOr<std::string> Contents(const std::string& path) {
  const std::unique_ptr<const Source> files = NewLocalFiles();
  absl::StatusOr<std::unique_ptr<ByteStream>> stream = OpenContents(*files, path);
  if (!stream.ok()) return stream.status();
  return ReadAll(**stream);
}

void ExpectLoss(const std::string& path, const std::string& what) {
  absl::StatusOr<std::string> contents = Contents(path);
  ASSERT_FALSE(contents.ok());
  EXPECT_EQ(contents.status().code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(contents.status().message()), HasSubstr(path + ": byte "));
  EXPECT_THAT(std::string(contents.status().message()), HasSubstr(what));
}

TEST(CompressionTest, IsTransparentWhateverTheNameSays) {
  TestFolder folder;
  const std::string text = LongText();
  EXPECT_EQ(*Contents(folder.Write("plain.csv", text)), text);
  EXPECT_EQ(*Contents(folder.Write("a.csv.gz", Gzip(text))), text);
  EXPECT_EQ(*Contents(folder.Write("a.csv.zst", Zstd(text))), text);
  EXPECT_EQ(*Contents(folder.Write("hidden.csv", Gzip(text))), text);
  EXPECT_EQ(*Contents(folder.Write("empty.csv", "")), "");
}

TEST(CompressionTest, ReadsMembersAndFramesOneAfterAnother) {
  TestFolder folder;
  EXPECT_EQ(*Contents(folder.Write("a.gz", Gzip("one\n") + Gzip("") + Gzip("two\n"))),
            "one\ntwo\n");
  EXPECT_EQ(*Contents(folder.Write("a.zst", Zstd("one\n") + Zstd("") + Zstd("two\n"))),
            "one\ntwo\n");
  EXPECT_EQ(*Contents(folder.Write("padded.gz", Gzip("one\n") + std::string(512, '\0'))), "one\n");
}

TEST(CompressionTest, NamesFileAndByteOfATruncatedFile) {
  TestFolder folder;
  const std::string gzip = Gzip(LongText());
  const std::string zstd = Zstd(LongText());
  ExpectLoss(folder.Write("half.gz", gzip.substr(0, gzip.size() / 2)), "truncated");
  ExpectLoss(folder.Write("end.gz", gzip.substr(0, gzip.size() - 1)), "truncated");
  ExpectLoss(folder.Write("half.zst", zstd.substr(0, zstd.size() / 2)), "truncated");
  ExpectLoss(folder.Write("end.zst", zstd.substr(0, zstd.size() - 1)), "truncated");
}

TEST(CompressionTest, NamesFileAndByteOfAMalformedFile) {
  TestFolder folder;
  std::string gzip = Gzip(LongText());
  gzip[gzip.size() - 6] ^= 1;  // The checksum of the text.
  ExpectLoss(folder.Write("checksum.gz", gzip), "malformed gzip data: incorrect data check");
  ExpectLoss(folder.Write("behind.gz", Gzip("one\n") + "text"), "malformed gzip data");
  std::string zstd = Zstd(LongText());
  for (size_t i = zstd.size() / 2; i < zstd.size() / 2 + 64; ++i) zstd[i] = '\xFF';
  ExpectLoss(folder.Write("middle.zst", zstd), "malformed zstd data");
}

TEST(CompressionTest, RefusesAPlainFileThatIsNamedGz) {
  TestFolder folder;
  ExpectLoss(folder.Write("liar.csv.gz", "1,2,3\n"), "is not gzip data, as its name says");
  ExpectLoss(folder.Write("empty.csv.gz", ""), "is not gzip data");
  ExpectLoss(folder.Write("liar.csv.zst", "1,2,3\n"), "is not zstd data");
}

}  // namespace
}  // namespace capstan
