// A feed of views behind a server, for the tests of those who watch and are watched.
#ifndef CAPSTAN_TESTS_UNIT_CHIEF_SHELL_WATCHED_FEED_H_
#define CAPSTAN_TESTS_UNIT_CHIEF_SHELL_WATCHED_FEED_H_

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "capstan/placement/view_reader.h"
#include "capstan/rpc/event_loop.h"
#include "capstan/rpc/server.h"
#include "capstan/v1/chief.grpc.pb.h"
#include "chief/shell/view_feed.h"

namespace capstan::chief {

class WatchService final : public v1::Chief::CallbackService {
 public:
  explicit WatchService(ViewFeed& feed) : feed_(feed) {}
  grpc::ServerWriteReactor<v1::View>* WatchView(grpc::CallbackServerContext*,
                                                const v1::WatchViewRequest* request) override {
    return feed_.Watch(
        {"", {request->shard(), request->shard_incarnation()}, request->differences()});
  }

 private:
  ViewFeed& feed_;
};

// Each names a shard at another address.
inline v1::View ViewOf(uint64_t n, size_t bytes = 0) {
  v1::View view;
  view.mutable_epoch()->set_term(1);
  view.mutable_epoch()->set_n(n);
  view.add_shards()->set_address(absl::StrCat(n, std::string(bytes, 'x')));
  return view;
}

// A feed behind a server, and clients that watch it.
class ViewFeedTest : public testing::Test {
 protected:
  // A stream of views; its channel is its own.
  struct Watcher {
    std::vector<uint64_t> seen;  // Their numbers.
    std::vector<size_t> bytes;   // Of the messages that told them.
    std::vector<bool> whole;     // Whether these were whole views.
    v1::View last;
    ViewReader reader{/*most_bytes=*/size_t{64} << 20};
    std::optional<absl::Status> end;
    CallId call{};

    void Take(const v1::View& message) {
      absl::StatusOr<v1::View> view = reader.Read(message);
      ASSERT_TRUE(view.ok()) << view.status();
      seen.push_back(view->epoch().n());
      bytes.push_back(message.ByteSizeLong());
      whole.push_back(!message.has_difference());
      last = *std::move(view);
    }
  };

  ~ViewFeedTest() override { feed_.Close(); }

  // `incarnation`: of shard 1, whose watch it is; 0: not a shard's.
  std::unique_ptr<Watcher> Watch(uint64_t incarnation = 0, bool differences = false) {
    v1::WatchViewRequest request;
    request.set_shard(1);
    request.set_shard_incarnation(incarnation);
    request.set_differences(differences);
    auto watcher = std::make_unique<Watcher>();
    watcher->call = loop_.Stream<v1::View>(
        NewChannel(absl::StrCat("127.0.0.1:", server_->port()), Role::kChief, /*tls=*/nullptr),
        "/capstan.v1.Chief/WatchView", request,
        [w = watcher.get()](const v1::View& message) { w->Take(message); },
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

}  // namespace capstan::chief

#endif  // CAPSTAN_TESTS_UNIT_CHIEF_SHELL_WATCHED_FEED_H_
