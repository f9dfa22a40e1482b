#include "capstan/rpc/event_loop.h"

#include <grpc/support/time.h>
#include <grpcpp/client_context.h>
#include <grpcpp/generic/generic_stub.h>

#include <algorithm>

#include "absl/strings/numbers.h"
#include "absl/strings/string_view.h"

namespace capstan {
namespace {

gpr_timespec After(absl::Duration wait) {
  const int64_t micros = std::max<int64_t>(0, absl::ToInt64Microseconds(wait));
  return gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC), gpr_time_from_micros(micros, GPR_TIMESPAN));
}

}  // namespace

// A call under way. Its address is its tag in the completion queue.
class EventLoop::Operation {
 public:
  virtual ~Operation() = default;
  virtual void Start(grpc::CompletionQueue& queue) = 0;
  // The operation's tag was returned by the queue. Returns true when it was the last time; then
  // Finish is called.
  virtual bool Advance(bool ok) = 0;
  virtual void Finish() = 0;

  grpc::ClientContext context;
  uint64_t id = 0;
  bool abandoned = false;  // The loop is being destroyed: no callback may run.
};

class EventLoop::UnaryOperation : public EventLoop::Operation {
 public:
  UnaryOperation(const Channel& channel, const std::string& method, const Bytes& request,
                 OnReply on_reply)
      : stub_(channel), method_(method), request_(request), on_reply_(std::move(on_reply)) {}

  void Start(grpc::CompletionQueue& queue) override {
    reader_ = stub_.PrepareUnaryCall(&context, method_, request_, &queue);
    reader_->StartCall();
    request_.Clear();
    reader_->Finish(&reply_, &status_, static_cast<Operation*>(this));
  }
  bool Advance(bool) override { return true; }
  void Finish() override {
    if (status_.ok()) {
      on_reply_(std::move(reply_));
      return;
    }
    on_reply_(WithHint(FromGrpcStatus(status_)));
  }

 private:
  absl::Status WithHint(absl::Status status) const {
    const auto& metadata = context.GetServerTrailingMetadata();
    const auto hint = metadata.find(kRetryHint);
    int64_t millis = 0;
    if (hint == metadata.end() ||
        !absl::SimpleAtoi(absl::string_view(hint->second.data(), hint->second.size()), &millis)) {
      return status;
    }
    return WithRetryAfter(std::move(status), absl::Milliseconds(millis));
  }

  grpc::GenericStub stub_;
  std::string method_;
  Bytes request_;
  OnReply on_reply_;
  std::unique_ptr<grpc::ClientAsyncResponseReader<Bytes>> reader_;
  Bytes reply_;
  grpc::Status status_;
};

class EventLoop::StreamOperation : public EventLoop::Operation {
 public:
  StreamOperation(const Channel& channel, const std::string& method, const Bytes& request,
                  absl::AnyInvocable<absl::Status(const Bytes&)> on_message,
                  absl::AnyInvocable<void(absl::Status)> on_end)
      : stub_(channel),
        method_(method),
        request_(request),
        on_message_(std::move(on_message)),
        on_end_(std::move(on_end)) {}

  void Start(grpc::CompletionQueue& queue) override {
    stream_ = stub_.PrepareCall(&context, method_, &queue);
    stream_->StartCall(Tag());
  }

  bool Advance(bool ok) override {
    switch (step_) {
      case Step::kStarting:
        step_ = ok ? Step::kAsking : Step::kEnding;
        if (ok) {
          stream_->WriteLast(request_, grpc::WriteOptions(), Tag());
        } else {
          stream_->Finish(&status_, Tag());
        }
        return false;
      case Step::kAsking:
        request_.Clear();
        step_ = Step::kReading;
        stream_->Read(&message_, Tag());
        return false;
      case Step::kReading:
        if (ok) {
          TakeMessage();
          stream_->Read(&message_, Tag());
          return false;
        }
        step_ = Step::kEnding;
        stream_->Finish(&status_, Tag());
        return false;
      case Step::kEnding:
        return true;
    }
    return true;
  }

  void Finish() override { on_end_(refusal_.ok() ? FromGrpcStatus(status_) : refusal_); }

 private:
  enum class Step { kStarting, kAsking, kReading, kEnding };

  void TakeMessage() {
    if (abandoned || !refusal_.ok()) return;
    refusal_ = on_message_(message_);
    if (!refusal_.ok()) context.TryCancel();
  }

  void* Tag() { return static_cast<Operation*>(this); }

  grpc::GenericStub stub_;
  std::string method_;
  Bytes request_;
  absl::AnyInvocable<absl::Status(const Bytes&)> on_message_;
  absl::AnyInvocable<void(absl::Status)> on_end_;
  std::unique_ptr<grpc::GenericClientAsyncReaderWriter> stream_;
  Step step_ = Step::kStarting;
  absl::Status refusal_;  // Why a message was refused: no further one is passed on.
  Bytes message_;
  grpc::Status status_;
};

EventLoop::EventLoop() = default;

EventLoop::~EventLoop() {
  for (auto& [id, operation] : operations_) {
    operation->abandoned = true;
    operation->context.TryCancel();
  }
  void* tag;
  bool ok;
  // The queue must not be shut down while operations may add further tags to it.
  while (!operations_.empty() && queue_.Next(&tag, &ok)) {
    Operation* operation = static_cast<Operation*>(tag);
    if (operation != nullptr && operation->Advance(ok)) operations_.erase(operation->id);
  }
  queue_.Shutdown();
  while (queue_.Next(&tag, &ok)) {
  }
}

CallId EventLoop::Start(std::unique_ptr<Operation> operation) {
  const uint64_t id = ++last_id_;
  operation->id = id;
  Operation& started = *operation;
  operations_.emplace(id, std::move(operation));
  started.Start(queue_);
  return CallId{id};
}

CallId EventLoop::Call(const Channel& channel, const std::string& method, const Bytes& request,
                       absl::Duration timeout, OnReply on_reply) {
  auto operation = std::make_unique<UnaryOperation>(channel, method, request, std::move(on_reply));
  operation->context.set_deadline(After(timeout));
  return Start(std::move(operation));
}

CallId EventLoop::StartStream(const Channel& channel, const std::string& method,
                              const Bytes& request,
                              absl::AnyInvocable<absl::Status(const Bytes&)> on_message,
                              absl::AnyInvocable<void(absl::Status)> on_end) {
  return Start(std::make_unique<StreamOperation>(channel, method, request, std::move(on_message),
                                                 std::move(on_end)));
}

void EventLoop::Cancel(CallId id) {
  auto found = operations_.find(static_cast<uint64_t>(id));
  if (found != operations_.end()) found->second->context.TryCancel();
}

void EventLoop::Post(absl::AnyInvocable<void()> task) {
  absl::MutexLock lock(&mu_);
  posted_.push_back(std::move(task));
  if (awake_) return;
  awake_ = true;
  // In the past, because an alarm for now would fire only at the next millisecond.
  alarm_.Set(&queue_, gpr_inf_past(GPR_CLOCK_MONOTONIC), nullptr);
}

bool EventLoop::Poll(absl::Duration at_most) {
  bool any = false;
  for (gpr_timespec deadline = After(at_most);; deadline = gpr_time_0(GPR_CLOCK_MONOTONIC)) {
    void* tag;
    bool ok;
    if (queue_.AsyncNext(&tag, &ok, deadline) != grpc::CompletionQueue::GOT_EVENT) return any;
    Handle(tag, ok);
    any = true;
  }
}

void EventLoop::Handle(void* tag, bool ok) {
  if (tag == nullptr) {
    RunPosted();
    return;
  }
  Operation* operation = static_cast<Operation*>(tag);
  if (!operation->Advance(ok)) return;
  auto node = operations_.extract(operation->id);
  node.mapped()->Finish();
}

void EventLoop::RunPosted() {
  std::vector<absl::AnyInvocable<void()>> tasks;
  {
    absl::MutexLock lock(&mu_);
    tasks.swap(posted_);
    awake_ = false;
  }
  for (auto& task : tasks) task();
}

}  // namespace capstan
