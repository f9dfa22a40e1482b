#include "capstan/rpc/view_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "capstan/placement/view_difference.h"
#include "capstan/rpc/server.h"
#include "capstan/v1/chief.grpc.pb.h"

namespace capstan {
namespace {

using testing::ElementsAre;

// Sends the same messages to everybody who watches, and ends the stream.
class ScriptedChief final : public v1::Chief::Service {
 public:
  explicit ScriptedChief(std::vector<v1::View> messages) : messages_(std::move(messages)) {}
  grpc::Status WatchView(grpc::ServerContext*, const v1::WatchViewRequest* request,
                         grpc::ServerWriter<v1::View>* writer) override {
    if (request->differences() && request->shard() == 3) ++asked_for_differences;
    for (const v1::View& message : messages_) writer->Write(message);
    return grpc::Status::OK;
  }

  std::atomic<int> asked_for_differences = 0;  // By shard 3.

 private:
  const std::vector<v1::View> messages_;
};

v1::View ScriptedView(uint64_t n, uint32_t owners) {
  v1::View view;
  view.mutable_epoch()->set_term(1);
  view.mutable_epoch()->set_n(n);
  for (uint32_t i = 0; i < owners; ++i) view.add_owners(i);
  return view;
}

v1::View ScriptedDifference(const v1::View& before, const v1::View& after) {
  v1::View message;
  *message.mutable_difference() = DifferenceOf(before, after);
  return message;
}

struct Watched {
  std::vector<int> owners;  // How many each view had.
  absl::Status end;
};

// Watches as shard 3, until the end of the stream.
Watched WatchAll(ScriptedChief& chief) {
  std::unique_ptr<Server> server = *Server::Start({.listen = "127.0.0.1:0"}, {&chief});
  EventLoop loop;
  Watched watched;
  std::optional<absl::Status> end;
  v1::WatchViewRequest request;
  request.set_shard(3);
  WatchView(
      loop, NewChannel(absl::StrCat("127.0.0.1:", server->port()), Role::kChief, nullptr), request,
      [&](const v1::View& view) {
        EXPECT_FALSE(view.has_difference());
        watched.owners.push_back(view.owners_size());
      },
      [&](absl::Status status) { end = std::move(status); });
  const absl::Time deadline = absl::Now() + absl::Minutes(1);
  while (!end && absl::Now() < deadline) loop.Poll(absl::Milliseconds(10));
  watched.end = end.value_or(absl::DeadlineExceededError("the stream does not end"));
  return watched;
}

TEST(ViewWatchTest, WhoWatchesAsksForDifferencesAndGetsWholeViews) {
  const v1::View first = ScriptedView(1, 2), second = ScriptedView(2, 5);
  ScriptedChief chief({first, ScriptedDifference(first, second), ScriptedView(3, 1)});
  const Watched watched = WatchAll(chief);
  EXPECT_TRUE(watched.end.ok()) << watched.end;
  EXPECT_THAT(watched.owners, ElementsAre(2, 5, 1));
  EXPECT_EQ(chief.asked_for_differences, 1);
}

TEST(ViewWatchTest, ADifferenceThatCannotBeReadEndsTheWatchAndTheNextOneBeginsWithAWholeView) {
  const v1::View first = ScriptedView(1, 2), second = ScriptedView(2, 5);
  ScriptedChief chief({first, ScriptedDifference(second, ScriptedView(3, 1)), second});
  for (int watch = 0; watch < 2; ++watch) {
    const Watched watched = WatchAll(chief);
    EXPECT_EQ(watched.end.code(), absl::StatusCode::kFailedPrecondition) << watched.end;
    EXPECT_THAT(watched.owners, ElementsAre(2));
  }
}

}  // namespace
}  // namespace capstan
