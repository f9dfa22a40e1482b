// Answer a call of a shard: at once, or before the pulls that it has released.
#ifndef CAPSTAN_PS_DOOR_ANSWERS_H_
#define CAPSTAN_PS_DOOR_ANSWERS_H_

#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/server_callback.h>

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "capstan/base/check.h"
#include "capstan/rpc/status.h"
#include "capstan/v1/ps.grpc.pb.h"
#include "google/protobuf/message.h"
#include "ps/shard/clock_shell.h"

namespace capstan::ps {

// Returns the status that the caller gets. If `status` has a hint when to retry, the hint is sent
// in the trailing metadata.
inline grpc::Status AtTheDoor(grpc::CallbackServerContext& context, const absl::Status& status) {
  const absl::Duration wait = RetryAfter(status);
  if (wait > absl::ZeroDuration()) {
    context.AddTrailingMetadata(kRetryHint, absl::StrCat(absl::ToInt64Milliseconds(wait)));
  }
  return ToGrpcStatus(status);
}

inline grpc::ServerUnaryReactor* Answer(grpc::CallbackServerContext& context,
                                        const absl::Status& status) {
  grpc::ServerUnaryReactor* reactor = context.DefaultReactor();
  reactor->Finish(AtTheDoor(context, status));
  return reactor;
}

// Answers with the `result` of a handler.
template <typename Reply>
grpc::ServerUnaryReactor* AnswerWith(grpc::CallbackServerContext& context,
                                     absl::StatusOr<Reply> result, Reply& reply) {
  if (result.ok()) reply = *std::move(result);
  return Answer(context, result.status());
}

// Parses the request of a call whose method takes and returns raw bytes. INVALID_ARGUMENT: the
// bytes are not such a message.
inline absl::Status Read(grpc::ByteBuffer bytes, google::protobuf::Message& request) {
  using Bytes = grpc::SerializationTraits<google::protobuf::Message>;
  if (Bytes::Deserialize(&bytes, &request).ok()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("the bytes are no ", request.GetDescriptor()->name()));
}

// Serializes the answer of such a call.
template <typename Reply>
void Write(const Reply& answer, grpc::ByteBuffer& reply) {
  bool own_buffer;
  CAPSTAN_CHECK(grpc::SerializationTraits<Reply>::Serialize(answer, &reply, &own_buffer).ok());
}

// The reactor of a push. It holds the pulls that the push has released, and lets them continue when
// the push's own answer has been sent (OnDone). Deletes itself.
class PushReactor final : public grpc::ServerUnaryReactor {
 public:
  explicit PushReactor(ReleasedPulls released) : released_(std::move(released)) {}
  void OnDone() override { delete this; }

  // If no pull was released, OnDone is short, and gRPC need not wake another thread for it. gRPC
  // calls this function internal, but there is no other way to say so.
  bool InternalInlineable() override { return released_.empty(); }

 private:
  ReleasedPulls released_;
};

}  // namespace capstan::ps

#endif  // CAPSTAN_PS_DOOR_ANSWERS_H_
