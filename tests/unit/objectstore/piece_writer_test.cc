#include "capstan/objectstore/piece_writer.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstddef>
#include <fstream>
#include <iterator>
#include <string>

#include "tests/lib/full_disk.h"
#include "tests/lib/test_folder.h"

namespace capstan {
namespace {

constexpr size_t kPiece = PieceWriter::kPieceBytes;
constexpr size_t kCached = PieceWriter::kCachedBytes;

std::string Numbered(size_t bytes) {
  std::string text(bytes, '\0');
  for (size_t i = 0; i < bytes; ++i) text[i] = static_cast<char>(i ^ (i >> 8) ^ (i >> 16));
  return text;
}

class PieceWriterTest : public testing::Test {
 protected:
  FileDescriptor Create(const std::string& name) const {
    return FileDescriptor(
        open(temporary_.Path(name).c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  }
  std::string Content(const std::string& name) const {
    std::ifstream file(temporary_.Path(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }

  const TestFolder temporary_;
};

TEST_F(PieceWriterTest, AFileOfAnyLengthIsWhatWasAppended) {
  for (const size_t bytes : {size_t{0}, size_t{1}, size_t{4096}, kCached - 1, kCached, kCached + 1,
                             kPiece - 1, kPiece, kPiece + 1, kPiece + kCached + 4097, 3 * kPiece}) {
    const std::string content = Numbered(bytes);
    const FileDescriptor file = Create("file");
    PieceWriter writer(file, "key");
    for (size_t at = 0; at < bytes; at += 300'007) {
      ASSERT_TRUE(writer.Append(std::string_view(content).substr(at, 300'007)).ok()) << bytes;
    }
    ASSERT_TRUE(writer.Finish().ok()) << bytes;
    EXPECT_TRUE(Content("file") == content) << bytes;
  }
}

TEST_F(PieceWriterTest, WithoutAnAppendTheFileIsEmpty) {
  const FileDescriptor file = Create("file");
  PieceWriter writer(file, "key");
  EXPECT_TRUE(writer.Finish().ok());
  EXPECT_EQ(Content("file"), "");
}

TEST_F(PieceWriterTest, AFullDiskIsTold) {
  const FileDescriptor file = Create("file");
  const FullDisk full(kPiece + 5000);
  PieceWriter writer(file, "key");
  ASSERT_TRUE(writer.Append(Numbered(kPiece)).ok());
  const absl::Status told = writer.Append(Numbered(kPiece));
  ASSERT_FALSE(told.ok());
  EXPECT_THAT(std::string(told.message()), testing::StartsWith("key: "));
}

// A pipe that is full for a moment is a disk that is.
TEST_F(PieceWriterTest, AFileThatLacksBytesIsNotFinishedThoughThereIsRoomAgain) {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_NONBLOCK | O_CLOEXEC), 0);
  const FileDescriptor out(ends[0]);
  const FileDescriptor in(ends[1]);
  PieceWriter writer(in, "key");
  const absl::Status full = writer.Append(Numbered(kPiece));
  ASSERT_FALSE(full.ok());
  std::string read_out(kPiece, '\0');
  while (read(out.get(), read_out.data(), read_out.size()) > 0) {
  }
  EXPECT_EQ(writer.Append("more"), full);
  EXPECT_EQ(writer.Finish(), full);
}

}  // namespace
}  // namespace capstan
