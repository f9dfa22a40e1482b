// Asynchronous gRPC calls of a client: calls are started, and their callbacks run, on the one
// thread that polls. The loop owns a gRPC completion queue; the polling thread itself waits for the
// sockets, so an answer is handled without switching threads.
//
//   EventLoop loop;
//   loop.Call<v1::PushReply>(channel, "/capstan.v1.Ps/Push", request, absl::Seconds(5),
//                            [](absl::StatusOr<v1::PushReply> reply) { ... });
//   while (!done) loop.Poll(absl::Milliseconds(100));
#ifndef CAPSTAN_RPC_EVENT_LOOP_H_
#define CAPSTAN_RPC_EVENT_LOOP_H_

#include <grpcpp/alarm.h>
#include <grpcpp/completion_queue.h>
#include <grpcpp/impl/codegen/proto_utils.h>
#include <grpcpp/support/byte_buffer.h>

#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "capstan/rpc/channel.h"
#include "capstan/rpc/status.h"

namespace capstan {

// A call or stream under way. Never reused; 0 is none.
enum class CallId : uint64_t {};

// *Confined to the thread that polls*, except Post.
class EventLoop {
 public:
  using Bytes = grpc::ByteBuffer;
  using OnReply = absl::AnyInvocable<void(absl::StatusOr<Bytes>)>;

  EventLoop();
  // Cancels all calls; callbacks that have not run are destroyed without being run.
  ~EventLoop();
  EventLoop(const EventLoop&) = delete;
  EventLoop& operator=(const EventLoop&) = delete;

  // Starts a unary call of `method` ("/package.Service/Method"). `on_reply` runs once, in a later
  // Poll, with the reply or an error: DEADLINE_EXCEEDED after `timeout`, UNAVAILABLE if the peer is
  // not reachable. It may start and cancel calls.
  CallId Call(const Channel& channel, const std::string& method, const Bytes& request,
              absl::Duration timeout, OnReply on_reply);

  // The same for protobuf messages. INTERNAL: the reply is not a Reply.
  template <typename Reply, typename Request, typename Done>
  CallId Call(const Channel& channel, const std::string& method, const Request& request,
              absl::Duration timeout, Done on_reply);

  // Returns a protobuf message as the bytes for a call.
  template <typename Message>
  static Bytes Serialize(const Message& message) {
    Bytes bytes;
    bool own_buffer;
    // Cannot fail: only a message above 2 GiB does not fit.
    (void)grpc::SerializationTraits<Message>::Serialize(message, &bytes, &own_buffer);
    return bytes;
  }

  // Parses the bytes of a reply, or of a message of a stream, into `message`. INTERNAL: they are
  // not of its type.
  template <typename Message>
  static absl::Status ParseInto(Bytes bytes, Message& message) {
    return FromGrpcStatus(grpc::SerializationTraits<Message>::Deserialize(&bytes, &message));
  }

  // Starts a call whose answer is a stream. `on_message` runs for each message, and `on_end` once
  // after the last one, with OK only if the server ended the stream regularly. If `on_message`
  // returns an error, the stream is ended with this error. There is no deadline: keepalive detects
  // a dead peer.
  template <typename Message, typename Request, typename Each, typename End>
  CallId Stream(const Channel& channel, const std::string& method, const Request& request,
                Each on_message, End on_end);

  // Ends the call with CANCELLED (unless it has already ended); its callback runs in a later Poll.
  void Cancel(CallId id);

  // Runs `task` in a Poll, now or later. *Thread-safe*; must not be called after the loop is
  // destroyed.
  void Post(absl::AnyInvocable<void()> task);

  // Waits at most `at_most` for answers or tasks, and runs the callbacks of all that have arrived.
  // Returns true if a callback or task was run.
  bool Poll(absl::Duration at_most);

  // How many calls and streams exist whose last callback has not run.
  size_t calls_under_way() const { return operations_.size(); }

 private:
  class Operation;
  class UnaryOperation;
  class StreamOperation;

  CallId Start(std::unique_ptr<Operation> operation);
  CallId StartStream(const Channel& channel, const std::string& method, const Bytes& request,
                     absl::AnyInvocable<absl::Status(const Bytes&)> on_message,
                     absl::AnyInvocable<void(absl::Status)> on_end);
  void Handle(void* tag, bool ok);
  void RunPosted();

  template <typename Message>
  static absl::StatusOr<Message> Parse(Bytes bytes) {
    Message message;
    absl::Status status = ParseInto(std::move(bytes), message);
    if (!status.ok()) return status;
    return message;
  }

  grpc::CompletionQueue queue_;
  absl::flat_hash_map<uint64_t, std::unique_ptr<Operation>> operations_;
  uint64_t last_id_ = 0;

  absl::Mutex mu_;
  std::vector<absl::AnyInvocable<void()>> posted_ ABSL_GUARDED_BY(mu_);
  // The alarm is set, or has fired and posted tasks are about to run.
  bool awake_ ABSL_GUARDED_BY(mu_) = false;
  grpc::Alarm alarm_ ABSL_GUARDED_BY(mu_);
};

template <typename Reply, typename Request, typename Done>
CallId EventLoop::Call(const Channel& channel, const std::string& method, const Request& request,
                       absl::Duration timeout, Done on_reply) {
  return Call(channel, method, Serialize(request), timeout,
              [on_reply = std::move(on_reply)](absl::StatusOr<Bytes> bytes) mutable {
                if (!bytes.ok()) {
                  on_reply(absl::StatusOr<Reply>(bytes.status()));
                  return;
                }
                on_reply(Parse<Reply>(*std::move(bytes)));
              });
}

template <typename Message, typename Request, typename Each, typename End>
CallId EventLoop::Stream(const Channel& channel, const std::string& method, const Request& request,
                         Each on_message, End on_end) {
  return StartStream(
      channel, method, Serialize(request),
      [on_message = std::move(on_message)](const Bytes& bytes) mutable -> absl::Status {
        absl::StatusOr<Message> message = Parse<Message>(bytes);
        if (!message.ok()) {
          return absl::InternalError("a message of the stream cannot be parsed");
        }
        if constexpr (std::is_void_v<std::invoke_result_t<Each&, Message>>) {
          on_message(*std::move(message));
          return absl::OkStatus();
        } else {
          return on_message(*std::move(message));
        }
      },
      std::move(on_end));
}

}  // namespace capstan

#endif  // CAPSTAN_RPC_EVENT_LOOP_H_
