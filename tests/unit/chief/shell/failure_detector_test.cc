#include "chief/shell/failure_detector.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "tests/unit/chief/shell/watched_feed.h"

namespace capstan::chief {
namespace {

// Shard 1 watches as process 7; what its port says is the test's word.
class FailureDetectorTest : public ViewFeedTest {
 protected:
  std::unique_ptr<Watcher> WatchAsShard() {
    feed_.Publish(ViewOf(1));
    auto watcher = Watch(/*incarnation=*/7);
    UntilSeen(*watcher, 1);
    return watcher;
  }
  void PollFor(absl::Duration duration) {
    const absl::Time until = absl::Now() + duration;
    while (absl::Now() < until) loop_.Poll(absl::Milliseconds(10));
  }

  SteadyClock clock_;
  std::atomic<bool> known_ = true;
  std::atomic<bool> refuses_ = false;
  std::atomic<int> asked_ = 0;
  std::atomic<uint64_t> gone_ = 0;
  FailureDetector detector_{
      {.clock = clock_,
       .views = feed_,
       .address_of =
           [this](const ViewFeed::ShardProcess& process) {
             return known_ && process.shard == 1 ? "ps-1:7000" : "";
           },
       .refuses =
           [this](const std::string& address) {
             EXPECT_EQ(address, "ps-1:7000");
             ++asked_;
             return refuses_.load();
           },
       .on_gone = [this](const ViewFeed::ShardProcess& process) { gone_ = process.incarnation; }}};
};

TEST_F(FailureDetectorTest, AShardWhoseWatchEndsAndWhosePortRefusesIsGone) {
  const auto watcher = WatchAsShard();
  refuses_ = true;
  PollFor(absl::Milliseconds(200));
  EXPECT_EQ(asked_, 0) << "as long as it watches nobody asks";
  loop_.Cancel(watcher->call);
  Until([&] { return gone_ != 0; });
  EXPECT_EQ(gone_, 7u);
  PollFor(absl::Milliseconds(200));
  EXPECT_EQ(asked_, 1) << "that is all there is to know";
}

TEST_F(FailureDetectorTest, APortThatClosesOnlyALittleLaterIsAskedAgain) {
  const auto watcher = WatchAsShard();
  loop_.Cancel(watcher->call);
  Until([&] { return asked_ >= 3; });
  EXPECT_EQ(gone_, 0u);
  refuses_ = true;
  Until([&] { return gone_ == 7u; });
}

TEST_F(FailureDetectorTest, OfAShardThatWatchesAgainNothingIsAskedAnyMore) {
  const auto watcher = WatchAsShard();
  loop_.Cancel(watcher->call);
  Until([&] { return asked_ >= 1; });
  const auto again = WatchAsShard();
  PollFor(absl::Milliseconds(200));
  refuses_ = true;
  PollFor(absl::Milliseconds(300));
  EXPECT_EQ(gone_, 0u);
}

TEST_F(FailureDetectorTest, AProcessThatNobodyKnowsIsNotAskedAbout) {
  const auto watcher = WatchAsShard();
  known_ = false;
  refuses_ = true;
  loop_.Cancel(watcher->call);
  PollFor(absl::Milliseconds(300));
  EXPECT_EQ(asked_, 0);
  EXPECT_EQ(gone_, 0u);
}

TEST_F(FailureDetectorTest, ItAsksTheSystemWhetherAnybodyListens) {
  const int port = server_->port();
  EXPECT_FALSE(FailureDetector::AsksPort(absl::StrCat("127.0.0.1:", port)));
  feed_.Close();
  server_->Shutdown(absl::ZeroDuration());
  server_.reset();
  EXPECT_TRUE(FailureDetector::AsksPort(absl::StrCat("127.0.0.1:", port)));
  EXPECT_FALSE(FailureDetector::AsksPort("no.such.host.invalid:7000"));
  EXPECT_FALSE(FailureDetector::AsksPort("nonsense"));
}

}  // namespace
}  // namespace capstan::chief
