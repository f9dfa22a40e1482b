#include "capstan/message/any_message.h"

#include <gtest/gtest.h>

#include <memory>

#include "absl/status/statusor.h"
#include "capstan/v1/ps.pb.h"

namespace capstan {
namespace {

v1::FlushReply Flushed() {
  v1::FlushReply reply;
  reply.set_gradients(7);
  return reply;
}

TEST(AnyMessageTest, IsReadAsWhatItIsAndAsNothingElse) {
  const AnyMessage message = Flushed();
  EXPECT_TRUE(message.Is<v1::FlushReply>());
  EXPECT_EQ(message.Get<v1::FlushReply>().gradients(), 7u);
  EXPECT_EQ(message.As<v1::FlushRequest>(), nullptr);
  EXPECT_EQ(message->GetTypeName(), "capstan.v1.FlushReply");
}

TEST(AnyMessageTest, CopiesShareTheMessage) {
  const AnyMessage message = Flushed();
  const AnyMessage copy = message;
  EXPECT_EQ(&*copy, &*message);
}

TEST(AnyMessageTest, TakesAMessageWhoseTypeItsMakerDoesNotKnow) {
  std::unique_ptr<google::protobuf::Message> made = std::make_unique<v1::FlushReply>(Flushed());
  EXPECT_EQ(AnyMessage(std::move(made)).Get<v1::FlushReply>().gradients(), 7u);
}

TEST(AnyMessageTest, AResultOfOneTypeIsAResultOfAnyType) {
  const absl::StatusOr<AnyMessage> good = absl::StatusOr<v1::FlushReply>(Flushed());
  ASSERT_TRUE(good.ok());
  EXPECT_TRUE(good->Is<v1::FlushReply>());
  const absl::StatusOr<AnyMessage> bad =
      absl::StatusOr<v1::FlushReply>(absl::UnavailableError("away"));
  EXPECT_EQ(bad.status(), absl::UnavailableError("away"));
}

TEST(AnyMessageDeathTest, ReadAsWhatItIsNotItIsABug) {
  EXPECT_DEATH((void)AnyMessage(Flushed()).Get<v1::FlushRequest>(), "Is<Message>");
}

}  // namespace
}  // namespace capstan
