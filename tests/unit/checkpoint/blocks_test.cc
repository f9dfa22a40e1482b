// The framing of a partition file: what is written comes back, and nothing else is taken for it.
#include "capstan/checkpoint/blocks.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace capstan {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr size_t kStartBytes = 8;  // The magic number and the format.
constexpr size_t kAroundBytes =
    16;  // Kind, ordinal and length in front of a payload, CRC after it.

class BlocksTest : public testing::Test {
 protected:
  // A file whose blocks hold these payloads.
  static std::string FileWith(const std::vector<std::string>& payloads) {
    BlockWriter writer;
    for (const std::string& payload : payloads) {
      writer.Begin(BlockKind::kRows);
      writer.bytes() += payload;
      writer.Finish();
    }
    return std::move(writer).TakeFile();
  }
  // The payloads up to the end block, or the first error instead of the rest.
  static std::vector<std::string> Read(absl::StatusOr<BlockReader> reader) {
    std::vector<std::string> payloads;
    if (!reader.ok()) return {std::string(reader.status().message())};
    for (;;) {
      const absl::StatusOr<BlockView> block = reader->Next();
      if (!block.ok()) {
        payloads.emplace_back(block.status().message());
        return payloads;
      }
      if (block->kind == BlockKind::kEnd) return payloads;
      payloads.emplace_back(block->payload);
    }
  }
  static std::vector<std::string> ReadFile(const std::string& file) {
    return Read(BlockReader::Open(file));
  }
  // The file comes in pieces of so many bytes, and is said to have `bytes`.
  static ByteFeed FeedOf(const std::string& file, size_t piece, uint64_t bytes) {
    return {.next = [file, piece, at = size_t{0}]() mutable -> absl::StatusOr<std::string> {
              const std::string next = file.substr(std::min(at, file.size()), piece);
              at += next.size();
              return next;
            },
            .bytes = bytes};
  }
};

TEST_F(BlocksTest, PayloadsComeBackInTheirOrder) {
  EXPECT_THAT(ReadFile(FileWith({"one", "", "three"})), ElementsAre("one", "", "three"));
  EXPECT_THAT(ReadFile(FileWith({})), ElementsAre());
}

TEST_F(BlocksTest, AFileMayComeInPiecesThatEndAnywhere) {
  const std::string file = FileWith({"one", std::string(100, 'x'), ""});
  for (const size_t piece : {size_t{1}, size_t{7}, size_t{64}, file.size()}) {
    EXPECT_THAT(Read(BlockReader::Open(FeedOf(file, piece, file.size()))),
                ElementsAre("one", std::string(100, 'x'), ""))
        << piece;
  }
}

TEST_F(BlocksTest, AFeedThatEndsEarlyOrFailsSaysSo) {
  const std::string file = FileWith({"one"});
  EXPECT_THAT(Read(BlockReader::Open(FeedOf(file.substr(0, 12), 5, file.size()))),
              ElementsAre("the file ends before its last byte"));
  ByteFeed failing = {.next = [] { return absl::UnavailableError("s3"); }, .bytes = 100};
  EXPECT_TRUE(absl::IsUnavailable(BlockReader::Open(std::move(failing)).status()));
}

TEST_F(BlocksTest, WhatIsWrittenMayBeTakenBlockByBlock) {
  BlockWriter writer;
  std::string file;
  for (const char* payload : {"one", "two"}) {
    writer.Begin(BlockKind::kRows);
    writer.bytes() += payload;
    EXPECT_EQ(writer.payload_size(), 3u);
    EXPECT_EQ(writer.finished(), 0u) << "a block is being written";
    writer.Finish();
    EXPECT_GE(writer.finished(), kAroundBytes + 3);
    file += writer.TakeFinished();
    EXPECT_EQ(writer.finished(), 0u);
  }
  file += std::move(writer).TakeFile();
  EXPECT_EQ(file, FileWith({"one", "two"}));
}

TEST_F(BlocksTest, EveryByteThatChangesIsFound) {
  const std::string file = FileWith({"one", "two"});
  for (size_t at = 0; at < file.size(); ++at) {
    std::string damaged = file;
    damaged[at] = static_cast<char>(damaged[at] ^ 1);
    EXPECT_NE(ReadFile(damaged), ReadFile(file)) << at;
  }
}

TEST_F(BlocksTest, AFileThatIsCutShortIsFoundWithThePlace) {
  const std::string file = FileWith({"one", "two"});
  for (size_t size = 0; size < file.size(); ++size) {
    EXPECT_NE(ReadFile(file.substr(0, size)), ReadFile(file)) << size;
  }
  const size_t second = kStartBytes + kAroundBytes + 3;
  EXPECT_THAT(ReadFile(file.substr(0, second)),
              ElementsAre("one", "block 1, at byte 27, is missing: the file ends before it"));
}

TEST_F(BlocksTest, ABlockInAnothersPlaceIsFoundThoughItsChecksumAgrees) {
  const std::string file = FileWith({"one", "two"});
  const size_t bytes = kAroundBytes + 3;
  const std::string swapped =
      file.substr(0, kStartBytes) + file.substr(kStartBytes + bytes, bytes) +
      file.substr(kStartBytes, bytes) + file.substr(kStartBytes + 2 * bytes);
  EXPECT_THAT(ReadFile(swapped), ElementsAre("block 0, at byte 8, is missing or out of place"));
}

TEST_F(BlocksTest, ALengthBeyondTheFileIsNotRead) {
  std::string file = FileWith({"one"});
  file.replace(kStartBytes + 8, 4, std::string(4, '\xFF'));
  EXPECT_THAT(ReadFile(file),
              ElementsAre("block 0, at byte 8, is cut short or its length is damaged"));
}

TEST_F(BlocksTest, WhatFollowsTheEndBlockIsFound) {
  EXPECT_THAT(ReadFile(FileWith({"one"}) + "more"),
              ElementsAre("one", "4 bytes follow the end block"));
}

TEST_F(BlocksTest, AnotherKindOfFileAndANewerFormatAreToldApart) {
  std::string file = FileWith({"one"});
  file[kStartBytes - 1] = 2;
  const absl::Status newer = BlockReader::Open(file).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(newer));
  EXPECT_THAT(std::string(newer.message()), HasSubstr("format 2 of partition files"));
  EXPECT_TRUE(absl::IsDataLoss(BlockReader::Open("CAPSTON1").status()));
  EXPECT_TRUE(absl::IsDataLoss(BlockReader::Open("CAPSTAN").status()));
}

}  // namespace
}  // namespace capstan
