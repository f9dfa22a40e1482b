#include "chief/shell/view_feed.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "capstan/rpc/event_loop.h"
#include "capstan/rpc/server.h"
#include "capstan/v1/chief.grpc.pb.h"

namespace capstan::chief {
namespace {

using testing::ElementsAre;

class WatchService final : public v1::Chief::CallbackService {
 public:
  explicit WatchService(ViewFeed& feed) : feed_(feed) {}
  grpc::ServerWriteReactor<v1::View>* WatchView(grpc::CallbackServerContext*,
                                                const v1::WatchViewRequest*) override {
    return feed_.Watch();
  }

 private:
  ViewFeed& feed_;
};

v1::View ViewOf(uint64_t n, size_t bytes = 0) {
  v1::View view;
  view.mutable_epoch()->set_term(1);
  view.mutable_epoch()->set_n(n);
  view.add_shards()->set_address(std::string(bytes, 'x'));
  return view;
}

class ViewFeedTest : public testing::Test {
 protected:
  // A stream of views; its channel is its own.
  struct Watcher {
    std::vector<uint64_t> seen;  // Their numbers.
    std::optional<absl::Status> end;
    CallId call{};
  };

  ~ViewFeedTest() override { feed_.Close(); }

  std::unique_ptr<Watcher> Watch() {
    auto watcher = std::make_unique<Watcher>();
    watcher->call = loop_.Stream<v1::View>(
        NewChannel(absl::StrCat("127.0.0.1:", server_->port()), Role::kChief),
        "/capstan.v1.Chief/WatchView", v1::WatchViewRequest(),
        [w = watcher.get()](const v1::View& view) { w->seen.push_back(view.epoch().n()); },
        [w = watcher.get()](absl::Status end) { w->end = std::move(end); });
    return watcher;
  }

  template <typename Condition>
  void Until(const Condition& condition) {
    const absl::Time deadline = absl::Now() + absl::Minutes(1);
    while (!condition()) {
      loop_.Poll(absl::Milliseconds(10));
      ASSERT_LT(absl::Now(), deadline);
    }
  }
  void UntilSeen(const Watcher& watcher, uint64_t n) {
    Until([&] { return !watcher.seen.empty() && watcher.seen.back() == n; });
  }
  void UntilEnded(const Watcher& watcher) {
    Until([&] { return watcher.end.has_value(); });
  }

  ViewFeed feed_{/*max_watchers=*/2};
  WatchService service_{feed_};
  std::unique_ptr<Server> server_ = *Server::Start({.listen = "127.0.0.1:0"}, {&service_});
  EventLoop loop_;
};

TEST_F(ViewFeedTest, AWatcherGetsThePresentViewAtOnceAndThenEveryNewerOne) {
  feed_.Publish(ViewOf(1));
  feed_.Publish(ViewOf(2));
  const auto watcher = Watch();
  UntilSeen(*watcher, 2);
  feed_.Publish(ViewOf(3));
  UntilSeen(*watcher, 3);
  EXPECT_THAT(watcher->seen, ElementsAre(2, 3));
}

TEST_F(ViewFeedTest, AWatcherBeforeTheFirstViewWaitsForIt) {
  const auto watcher = Watch();
  const absl::Time later = absl::Now() + absl::Milliseconds(50);
  while (absl::Now() < later) loop_.Poll(later - absl::Now());
  EXPECT_TRUE(watcher->seen.empty());
  EXPECT_FALSE(watcher->end.has_value());
  feed_.Publish(ViewOf(1));
  UntilSeen(*watcher, 1);
}

TEST_F(ViewFeedTest, AnOlderViewIsNotSentBehindANewerOne) {
  const auto watcher = Watch();
  feed_.Publish(ViewOf(5));
  UntilSeen(*watcher, 5);
  feed_.Publish(ViewOf(4));
  const auto later = Watch();
  UntilSeen(*later, 5);
  feed_.Publish(ViewOf(6));
  UntilSeen(*watcher, 6);
  EXPECT_THAT(watcher->seen, ElementsAre(5, 6));
}

TEST_F(ViewFeedTest, ASlowWatcherIsSentTheNewestViewAndNotEveryOneInBetween) {
  feed_.Publish(ViewOf(1));
  const auto watcher = Watch();
  UntilSeen(*watcher, 1);
  // More than the transport holds; nobody reads meanwhile.
  constexpr uint64_t kViews = 64;
  for (uint64_t n = 2; n <= kViews; ++n) feed_.Publish(ViewOf(n, /*bytes=*/1 << 20));
  UntilSeen(*watcher, kViews);
  EXPECT_LT(watcher->seen.size(), kViews);
}

TEST_F(ViewFeedTest, OneWatcherTooManyIsTurnedAwayAndTheOthersGoOn) {
  feed_.Publish(ViewOf(1));
  const auto first = Watch(), second = Watch();
  UntilSeen(*first, 1);
  UntilSeen(*second, 1);
  const auto third = Watch();
  UntilEnded(*third);
  EXPECT_EQ(third->end->code(), absl::StatusCode::kResourceExhausted);
  feed_.Publish(ViewOf(2));
  UntilSeen(*first, 2);
  UntilSeen(*second, 2);
}

TEST_F(ViewFeedTest, AWatcherThatHasGoneMakesRoom) {
  feed_.Publish(ViewOf(1));
  const auto first = Watch(), second = Watch();
  UntilSeen(*first, 1);
  UntilSeen(*second, 1);
  loop_.Cancel(first->call);
  UntilEnded(*first);
  std::unique_ptr<Watcher> third;
  Until([&] {  // The server hears of it a little later.
    if (third == nullptr || third->end) third = Watch();
    return !third->seen.empty();
  });
}

TEST_F(ViewFeedTest, CloseEndsEveryStreamAndEveryNewOne) {
  feed_.Publish(ViewOf(1));
  const auto before = Watch();
  UntilSeen(*before, 1);
  feed_.Close();
  UntilEnded(*before);
  EXPECT_EQ(before->end->code(), absl::StatusCode::kUnavailable);
  const auto after = Watch();
  UntilEnded(*after);
  EXPECT_EQ(after->end->code(), absl::StatusCode::kUnavailable);
}

TEST_F(ViewFeedTest, ManyPublishersAndWatchersComeToTheSameView) {
  const auto first = Watch(), second = Watch();
  std::vector<std::thread> publishers;
  for (uint64_t p = 0; p < 4; ++p) {
    publishers.emplace_back([this, p] {
      for (uint64_t i = 0; i < 50; ++i) feed_.Publish(ViewOf(1 + 4 * i + p));
    });
  }
  for (std::thread& publisher : publishers) publisher.join();
  UntilSeen(*first, 200);
  UntilSeen(*second, 200);
  for (const auto* watcher : {first.get(), second.get()}) {
    EXPECT_TRUE(std::is_sorted(watcher->seen.begin(), watcher->seen.end()));
  }
}

}  // namespace
}  // namespace capstan::chief
