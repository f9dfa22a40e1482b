#include "capstan/objectstore/files.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>

#include "tests/lib/test_folder.h"

namespace capstan {
namespace {

using testing::HasSubstr;

bool IsOpen(int fd) { return fcntl(fd, F_GETFD) != -1; }

class FilesTest : public testing::Test {
 protected:
  FileDescriptor OpenPath(const std::string& path, int flags = O_RDONLY) const {
    return FileDescriptor(open(path.c_str(), flags | O_CLOEXEC));
  }

  const TestFolder temporary_;
  const FileDescriptor root_ = OpenPath(temporary_.path(), O_RDONLY | O_DIRECTORY);
};

TEST_F(FilesTest, ADescriptorIsClosedByItsLastOwnerAlone) {
  temporary_.Write("a", "a");
  FileDescriptor first = OpenPath(temporary_.Path("a"));
  const int fd = first.get();
  {
    FileDescriptor second(std::move(first));
    EXPECT_EQ(second.get(), fd);
    first = FileDescriptor();
    EXPECT_TRUE(IsOpen(fd)) << "what was moved from owns nothing";
    FileDescriptor third = OpenPath(temporary_.Path("a"));
    const int replaced = third.get();
    third = std::move(second);
    EXPECT_FALSE(IsOpen(replaced));
    EXPECT_TRUE(IsOpen(fd));
  }
  EXPECT_FALSE(IsOpen(fd));
  EXPECT_FALSE(FileDescriptor().valid());
}

TEST_F(FilesTest, AnErrorHasTheCodeThatCallersDecideBy) {
  EXPECT_TRUE(absl::IsNotFound(SystemError("a/b", ENOENT)));
  EXPECT_TRUE(absl::IsPermissionDenied(SystemError("a/b", EACCES)));
  EXPECT_TRUE(absl::IsResourceExhausted(SystemError("a/b", ENOSPC)));
  EXPECT_TRUE(absl::IsFailedPrecondition(SystemError("a/b", ENOTDIR)));
  const absl::Status link = SystemError("a/b", ELOOP);
  EXPECT_EQ(link, absl::FailedPreconditionError("a/b: is a symbolic link, which is not followed"));
}

TEST_F(FilesTest, AFolderIsMadeOnlyIfThatIsAsked) {
  EXPECT_TRUE(absl::IsNotFound(OpenFolder(root_, "new", /*make=*/false).status()));
  EXPECT_TRUE(OpenFolder(root_, "new", /*make=*/true).ok());
  EXPECT_TRUE(OpenFolder(root_, "new", /*make=*/true).ok()) << "it is there already";
  EXPECT_TRUE(OpenFolder(root_, "new", /*make=*/false).ok());
}

TEST_F(FilesTest, AFolderIsNeverALinkNorAFile) {
  std::filesystem::create_directory(temporary_.Path("real"));
  std::filesystem::create_directory_symlink(temporary_.Path("real"), temporary_.Path("link"));
  temporary_.Write("file", "x");
  for (const bool make : {false, true}) {
    EXPECT_TRUE(absl::IsFailedPrecondition(OpenFolder(root_, "link", make).status())) << make;
    EXPECT_TRUE(absl::IsFailedPrecondition(OpenFolder(root_, "file", make).status())) << make;
  }
}

TEST_F(FilesTest, OnlyAPlainFileIsOpenedAndNamedByItsKey) {
  temporary_.Write("file", "x");
  std::filesystem::create_symlink(temporary_.Path("file"), temporary_.Path("link"));
  std::filesystem::create_directory(temporary_.Path("folder"));
  ASSERT_EQ(mkfifo(temporary_.Path("pipe").c_str(), 0600), 0);
  EXPECT_TRUE(OpenFile(root_, "file", "k/file").ok());
  EXPECT_TRUE(absl::IsNotFound(OpenFile(root_, "none", "k/none").status()));
  EXPECT_TRUE(absl::IsFailedPrecondition(OpenFile(root_, "link", "k/link").status()));
  EXPECT_EQ(OpenFile(root_, "folder", "k/folder").status(),
            absl::FailedPreconditionError("k/folder: not a file"));
  EXPECT_EQ(OpenFile(root_, "pipe", "k/pipe").status(),
            absl::FailedPreconditionError("k/pipe: not a file"));
}

TEST_F(FilesTest, AVersionChangesWithTheTimeTheSizeAndTheFile) {
  const std::string path = temporary_.Write("file", "x");
  const ObjectVersion first = *VersionOf(OpenPath(path), "key");
  EXPECT_EQ(*VersionOf(OpenPath(path), "key"), first) << "nothing has been written";
  const timespec times[2] = {{.tv_sec = 5, .tv_nsec = 1}, {.tv_sec = 5, .tv_nsec = 1}};
  ASSERT_EQ(utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
  const ObjectVersion stamped = *VersionOf(OpenPath(path), "key");
  EXPECT_NE(stamped, first);
  const std::string other = temporary_.Write("other", "x");
  ASSERT_EQ(utimensat(AT_FDCWD, other.c_str(), times, 0), 0);
  EXPECT_NE(*VersionOf(OpenPath(other), "key"), stamped)
      << "another file of the same time and size";
  EXPECT_FALSE(VersionOf(FileDescriptor(), "key").ok());
}

TEST_F(FilesTest, ARangeIsReadOrTheFileIsTooShortForIt) {
  temporary_.Write("file", "0123456789");
  const FileDescriptor file = OpenPath(temporary_.Path("file"));
  EXPECT_EQ(*ReadAt(file, {}, "key"), "0123456789");
  EXPECT_EQ(*ReadAt(file, {.offset = 3, .length = 4}, "key"), "3456");
  EXPECT_EQ(*ReadAt(file, {.offset = 3}, "key"), "3456789");
  EXPECT_EQ(*ReadAt(file, {.offset = 10}, "key"), "");
  EXPECT_EQ(*ReadAt(file, {.offset = 4, .length = 0}, "key"), "");
  EXPECT_EQ(*ReadAt(file, {.offset = 8, .length = 9, .may_be_short = true}, "key"), "89");
  for (const ReadRange& beyond :
       {ReadRange{.offset = 8, .length = 3}, ReadRange{.offset = 11},
        ReadRange{.offset = UINT64_MAX}, ReadRange{.offset = 11, .length = 0, .may_be_short = true},
        ReadRange{.offset = 5, .length = UINT64_MAX - 1}}) {
    EXPECT_TRUE(absl::IsOutOfRange(ReadAt(file, beyond, "key").status())) << beyond.offset;
  }
}

TEST_F(FilesTest, AllBytesAreWrittenOrTheErrorIsTold) {
  const std::string bytes(300'000, 'b');
  temporary_.Write("file", "");
  {
    const FileDescriptor file = OpenPath(temporary_.Path("file"), O_WRONLY);
    EXPECT_FALSE(WriteAll(OpenPath(temporary_.Path("file")), "x", "key").ok())
        << "open for reading";
    EXPECT_TRUE(WriteAll(file, "", "key").ok());
    EXPECT_TRUE(WriteAll(file, bytes, "key").ok());
  }
  EXPECT_EQ(std::filesystem::file_size(temporary_.Path("file")), bytes.size());
  const absl::Status full = WriteAll(OpenPath("/dev/full", O_WRONLY), "x", "key");
  EXPECT_TRUE(absl::IsResourceExhausted(full)) << full;
  EXPECT_THAT(std::string(full.message()), testing::StartsWith("key: "));
}

}  // namespace
}  // namespace capstan
