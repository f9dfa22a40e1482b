#include "chief/shell/store_thread.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <vector>

#include "absl/synchronization/notification.h"

namespace capstan::chief {
namespace {

using testing::ElementsAre;

TEST(StoreThreadTest, DoesOneJobAfterTheOtherAndAtItsEndWhatWaits) {
  std::vector<int> done;
  absl::Notification go;
  {
    StoreThread thread(/*most_waiting=*/3);
    EXPECT_TRUE(thread.Post([&] {
      go.WaitForNotification();
      done.push_back(0);
    }));
    EXPECT_TRUE(thread.Post([&] { done.push_back(1); }));
    EXPECT_TRUE(thread.Post([&] { done.push_back(2); }));
    go.Notify();
  }
  EXPECT_THAT(done, ElementsAre(0, 1, 2));
}

TEST(StoreThreadTest, AJobBeyondThoseThatMayWaitIsDroppedWithWhatItHolds) {
  absl::Notification begun;
  absl::Notification go;
  const auto held = std::make_shared<int>(7);
  StoreThread thread(/*most_waiting=*/1);
  ASSERT_TRUE(thread.Post([&] {
    begun.Notify();
    go.WaitForNotification();
  }));
  begun.WaitForNotification();  // The job that is being done does not wait any more.
  EXPECT_TRUE(thread.Post([held] { EXPECT_EQ(*held, 7); }));
  EXPECT_FALSE(thread.Post([held] { ADD_FAILURE() << "it was dropped"; }));
  EXPECT_EQ(held.use_count(), 2) << "this one's, and that of the job that waits";
  go.Notify();
}

TEST(StoreThreadTest, AJobMayPostTheNextAlsoWhileTheThreadEnds) {
  absl::Notification ends;
  bool next_done = false;
  {
    std::optional<StoreThread> thread(std::in_place, /*most_waiting=*/1);
    EXPECT_TRUE(thread->Post([&, to = &*thread] {
      ends.WaitForNotification();
      EXPECT_TRUE(to->Post([&] { next_done = true; }));
    }));
    ends.Notify();
  }
  EXPECT_TRUE(next_done);
}

}  // namespace
}  // namespace capstan::chief
