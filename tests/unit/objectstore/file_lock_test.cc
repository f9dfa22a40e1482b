#include "capstan/objectstore/file_lock.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "absl/time/time.h"
#include "tests/lib/test_folder.h"

namespace capstan {
namespace {

class FileLockTest : public testing::Test {
 protected:
  absl::StatusOr<FileDescriptor> Lock(LockKind kind) const {
    return LockFolder(folder_, kind, absl::ZeroDuration());
  }
  bool HasLockFile() const { return std::filesystem::exists(temporary_.Path(".lock")); }

  const TestFolder temporary_;
  const FileDescriptor folder_{open(temporary_.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
};

TEST_F(FileLockTest, ManyShareItAndOneHoldsItAlone) {
  {
    const auto one = Lock(LockKind::kShared);
    const auto other = Lock(LockKind::kShared);
    ASSERT_TRUE(one.ok() && other.ok());
    EXPECT_TRUE(absl::IsUnavailable(Lock(LockKind::kExclusive).status()));
  }
  const auto alone = Lock(LockKind::kExclusive);
  ASSERT_TRUE(alone.ok()) << "those who shared it have ended";
  EXPECT_TRUE(absl::IsUnavailable(Lock(LockKind::kExclusive).status()));
  EXPECT_EQ(Lock(LockKind::kShared).status(),
            absl::UnavailableError(".lock: held by another process for 0"));
}

TEST_F(FileLockTest, WhoeverWaitsHasItWhenItIsFree) {
  absl::StatusOr<FileDescriptor> held = Lock(LockKind::kExclusive);
  ASSERT_TRUE(held.ok());
  EXPECT_TRUE(absl::IsUnavailable(
      LockFolder(folder_, LockKind::kShared, absl::Microseconds(200)).status()));
  *held = FileDescriptor();
  EXPECT_TRUE(LockFolder(folder_, LockKind::kShared, absl::Seconds(30)).ok());
}

TEST_F(FileLockTest, IsTakenAnewWhereItsFileHasBeenReplaced) {
  const auto held = Lock(LockKind::kExclusive);
  ASSERT_TRUE(held.ok());
  std::filesystem::remove(temporary_.Path(".lock"));
  EXPECT_TRUE(Lock(LockKind::kExclusive).ok()) << "nobody holds the file that is there now";
}

TEST_F(FileLockTest, IsNoLinkToAFileElsewhere) {
  const std::string elsewhere = temporary_.Write("elsewhere", "");
  std::filesystem::create_symlink(elsewhere, temporary_.Path(".lock"));
  EXPECT_TRUE(absl::IsFailedPrecondition(Lock(LockKind::kShared).status()));
}

TEST_F(FileLockTest, AFolderThatIsGoneHasNone) {
  std::filesystem::remove(temporary_.path());
  EXPECT_TRUE(absl::IsNotFound(Lock(LockKind::kShared).status()));
}

TEST_F(FileLockTest, TheLastLockGoesWhereNothingElseIs) {
  RemoveLastLock(folder_);  // There is none.
  ASSERT_TRUE(Lock(LockKind::kShared).ok());
  temporary_.Write("object", "x");
  RemoveLastLock(folder_);
  EXPECT_TRUE(HasLockFile()) << "the folder holds an object";
  std::filesystem::remove(temporary_.Path("object"));
  RemoveLastLock(folder_);
  EXPECT_FALSE(HasLockFile());
}

TEST_F(FileLockTest, ALockThatIsHeldStays) {
  const auto held = Lock(LockKind::kShared);
  ASSERT_TRUE(held.ok());
  RemoveLastLock(folder_);
  EXPECT_TRUE(HasLockFile());
}

}  // namespace
}  // namespace capstan
