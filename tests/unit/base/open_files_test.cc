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

}  // namespace
}  // namespace capstan
