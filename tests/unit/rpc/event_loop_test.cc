#include "capstan/rpc/event_loop.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <thread>
#include <vector>

#include "absl/time/clock.h"
#include "tests/unit/rpc/echo_service.h"

namespace capstan {
namespace {

using testing::ElementsAre;

constexpr char kFlush[] = "/capstan.v1.Ps/Flush";
constexpr char kPull[] = "/capstan.v1.Ps/Pull";
constexpr char kPush[] = "/capstan.v1.Ps/Push";
constexpr char kWatch[] = "/capstan.v1.Chief/WatchView";

template <typename Condition>
[[nodiscard]] bool PollUntil(EventLoop& loop, const Condition& condition) {
  const absl::Time deadline = absl::Now() + absl::Seconds(10);
  while (!condition() && absl::Now() < deadline) loop.Poll(absl::Milliseconds(50));
  return condition();
}

grpc::ByteBuffer BytesOf(const std::string& text) {
  grpc::Slice slice(text);
  return grpc::ByteBuffer(&slice, 1);
}

TEST(EventLoopTest, AnswersATypedCall) {
  TestServer server;
  EventLoop loop;
  std::optional<absl::StatusOr<v1::FlushReply>> reply;
  loop.Call<v1::FlushReply>(server.Connect(), kFlush, v1::FlushRequest(), absl::Seconds(5),
                            [&](absl::StatusOr<v1::FlushReply> r) { reply = std::move(r); });
  ASSERT_TRUE(PollUntil(loop, [&] { return reply.has_value(); }));
  ASSERT_TRUE(reply->ok()) << reply->status();
  EXPECT_EQ((*reply)->gradients(), 7u);
  EXPECT_EQ(loop.calls_under_way(), 0u);
}

TEST(EventLoopTest, WritesAndReadsAMessageWithoutKnowingItsType) {
  v1::FlushReply sent;
  sent.set_gradients(7);
  v1::FlushReply read;
  google::protobuf::Message& into = read;
  const EventLoop::Bytes bytes =
      EventLoop::Serialize(static_cast<const google::protobuf::Message&>(sent));
  EXPECT_EQ(EventLoop::ParseInto(bytes, into), absl::OkStatus());
  EXPECT_EQ(read.gradients(), 7u);
  EXPECT_TRUE(absl::IsInternal(EventLoop::ParseInto(BytesOf("\xFF"), into)));
}

TEST(EventLoopTest, CarriesBytesUntouched) {
  TestServer server;
  EventLoop loop;
  std::optional<absl::StatusOr<grpc::ByteBuffer>> reply;
  loop.Call(server.Connect(), kPull, BytesOf(std::string(3 << 20, 'x')), absl::Seconds(5),
            [&](absl::StatusOr<grpc::ByteBuffer> r) { reply = std::move(r); });
  ASSERT_TRUE(PollUntil(loop, [&] { return reply.has_value(); }));
  ASSERT_TRUE(reply->ok()) << reply->status();
  EXPECT_EQ((*reply)->Length(), size_t{3} << 20);
}

TEST(EventLoopTest, SaysDeadlineExceededWhenThePeerIsSilent) {
  TestServer server;
  EventLoop loop;
  std::optional<absl::Status> status;
  loop.Call(server.Connect(), kPush, grpc::ByteBuffer(BytesOf("")), absl::Milliseconds(100),
            [&](absl::StatusOr<grpc::ByteBuffer> r) { status = r.status(); });
  ASSERT_TRUE(PollUntil(loop, [&] { return status.has_value(); }));
  EXPECT_EQ(status->code(), absl::StatusCode::kDeadlineExceeded);
}

TEST(EventLoopTest, SaysUnavailableWhenNobodyListens) {
  EventLoop loop;
  std::optional<absl::Status> status;
  loop.Call(NewChannel("127.0.0.1:1", Role::kPs, /*tls=*/nullptr), kPull, BytesOf(""),
            absl::Seconds(5), [&](absl::StatusOr<grpc::ByteBuffer> r) { status = r.status(); });
  ASSERT_TRUE(PollUntil(loop, [&] { return status.has_value(); }));
  EXPECT_EQ(status->code(), absl::StatusCode::kUnavailable);
}

TEST(EventLoopTest, ACancelledCallEndsAsCancelled) {
  TestServer server;
  EventLoop loop;
  std::optional<absl::Status> status;
  CallId call = loop.Call(server.Connect(), kPush, BytesOf(""), absl::Seconds(60),
                          [&](absl::StatusOr<grpc::ByteBuffer> r) { status = r.status(); });
  loop.Cancel(call);
  ASSERT_TRUE(PollUntil(loop, [&] { return status.has_value(); }));
  EXPECT_EQ(status->code(), absl::StatusCode::kCancelled);
}

TEST(EventLoopTest, AStreamGivesItsMessagesInOrderAndThenItsEnd) {
  TestServer server;
  EventLoop loop;
  std::vector<uint64_t> seen;
  std::optional<absl::Status> end;
  loop.Stream<v1::View>(
      server.Connect(), kWatch, v1::WatchViewRequest(),
      [&](v1::View view) { seen.push_back(view.epoch().n()); },
      [&](absl::Status status) { end = std::move(status); });
  ASSERT_TRUE(PollUntil(loop, [&] { return end.has_value(); }));
  EXPECT_TRUE(end->ok()) << *end;
  EXPECT_THAT(seen, ElementsAre(1, 2, 3));
}

TEST(EventLoopTest, AStreamWhoseMessageIsRefusedEndsWithTheRefusal) {
  TestServer server;
  EventLoop loop;
  std::vector<uint64_t> seen;
  std::optional<absl::Status> end;
  loop.Stream<v1::View>(
      server.Connect(), kWatch, v1::WatchViewRequest(),
      [&](const v1::View& view) {
        seen.push_back(view.epoch().n());
        return seen.size() < 2 ? absl::OkStatus() : absl::FailedPreconditionError("enough");
      },
      [&](absl::Status status) { end = std::move(status); });
  ASSERT_TRUE(PollUntil(loop, [&] { return end.has_value(); }));
  EXPECT_EQ(*end, absl::FailedPreconditionError("enough"));
  EXPECT_THAT(seen, ElementsAre(1, 2)) << "no further one is taken";
}

TEST(EventLoopTest, AStreamToNobodyEndsAsUnavailable) {
  EventLoop loop;
  std::optional<absl::Status> end;
  loop.Stream<v1::View>(
      NewChannel("127.0.0.1:1", Role::kChief, /*tls=*/nullptr), kWatch, v1::WatchViewRequest(),
      [](v1::View) {}, [&](absl::Status status) { end = std::move(status); });
  ASSERT_TRUE(PollUntil(loop, [&] { return end.has_value(); }));
  EXPECT_EQ(end->code(), absl::StatusCode::kUnavailable);
}

TEST(EventLoopTest, PollReturnsFalseWhenNothingHappens) {
  EventLoop loop;
  EXPECT_FALSE(loop.Poll(absl::Milliseconds(5)));
}

TEST(EventLoopTest, ATaskPostedByAnotherThreadWakesThePoll) {
  EventLoop loop;
  int ran = 0;
  std::thread poster([&] {
    for (int i = 0; i < 1000; ++i) loop.Post([&] { ++ran; });
  });
  EXPECT_TRUE(PollUntil(loop, [&] { return ran == 1000; }));
  poster.join();
}

// A timer for now would ring at the next millisecond.
TEST(EventLoopTest, ATaskThatIsPostedIsThereAtOnce) {
  EventLoop loop;
  int ran = 0;
  for (int i = 1; i <= 100; ++i) {
    loop.Post([&ran] { ++ran; });
    loop.Poll(absl::ZeroDuration());
    ASSERT_EQ(ran, i);
  }
}

TEST(EventLoopTest, ATaskMayPostAnother) {
  EventLoop loop;
  bool ran = false;
  loop.Post([&] { loop.Post([&] { ran = true; }); });
  EXPECT_TRUE(PollUntil(loop, [&] { return ran; }));
}

TEST(EventLoopTest, DestructionRunsNoCallbackOfWhatWasUnderWay) {
  TestServer server;
  bool ran = false;
  {
    EventLoop loop;
    loop.Call(server.Connect(), kPush, BytesOf(""), absl::Seconds(60),
              [&](absl::StatusOr<grpc::ByteBuffer>) { ran = true; });
    loop.Stream<v1::View>(
        server.Connect(), kWatch, v1::WatchViewRequest(), [&](v1::View) { ran = true; },
        [&](absl::Status) { ran = true; });
    loop.Post([&] { ran = true; });
  }
  EXPECT_FALSE(ran);
}

}  // namespace
}  // namespace capstan
