#include "capstan/base/open_files.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace capstan {
namespace {

TEST(OpenFilesTest, CountsAtLeastThoseBelowTheLowestFreeDescriptor) {
  const int64_t before = OpenFiles();
  const int file = open("/dev/null", O_RDONLY | O_CLOEXEC);
  ASSERT_EQ(file, before) << "the lowest that was free";
  EXPECT_GT(OpenFiles(), before);
  close(file);
  EXPECT_EQ(OpenFiles(), before);
}

TEST(OpenFilesTest, TheLimitIsRaisedAsFarAsTheSystemAllows) {
  const int64_t raised = RaiseOpenFilesLimit();
  EXPECT_EQ(OpenFilesLimit(), raised);
  EXPECT_EQ(RaiseOpenFilesLimit(), raised);
}

TEST(RoomForConnectionsTest, AQuarterOfTheLimitIsKeptAndNoMoreThanIsNeeded) {
  EXPECT_EQ(RoomForConnections(16), 8);
  EXPECT_EQ(RoomForConnections(400), 300);
  EXPECT_EQ(RoomForConnections(1024), 768);
  EXPECT_EQ(RoomForConnections(1 << 20), (1 << 20) - 256);
}

TEST(IsNearlyFullTest, WhenLessThanATenthOfTheRoomIsFree) {
  EXPECT_FALSE(IsNearlyFull(/*open=*/270, /*room=*/300));
  EXPECT_TRUE(IsNearlyFull(/*open=*/271, /*room=*/300));
  EXPECT_TRUE(IsNearlyFull(/*open=*/400, /*room=*/300));
}

TEST(EnoughOpenFilesTest, TheRoomIsNotNearlyFullThen) {
  for (int64_t open = 1; open < 5000; ++open) {
    const int64_t limit = EnoughOpenFiles(open);
    ASSERT_FALSE(IsNearlyFull(open, RoomForConnections(limit))) << open;
  }
  EXPECT_EQ(EnoughOpenFiles(900), 900 + 101 + 256);
  EXPECT_TRUE(IsNearlyFull(OpenFilesWith(900), RoomForConnections(1024)));
}

}  // namespace
}  // namespace capstan
