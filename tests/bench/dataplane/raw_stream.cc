#include "tests/bench/dataplane/raw_stream.h"

#include <grpcpp/create_channel.h>
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/server_builder.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <string>
#include <vector>

#include "capstan/base/check.h"
#include "tests/bench/dataplane/measure.h"

namespace capstan::bench {
namespace {

constexpr char kAddress[] = "127.0.0.1:47682";
constexpr size_t kTensor = size_t{256} << 20;
constexpr size_t kChunk = size_t{1} << 20;
constexpr int kUnaryCalls = 5000;

bool Wait(grpc::CompletionQueue& queue) {
  void* tag;
  bool ok = false;
  return queue.Next(&tag, &ok) && ok;
}

class Stream {
 public:
  grpc::ByteBuffer Chunk(size_t offset) const {
    grpc::Slice slice(tensor_.data() + offset, kChunk, grpc::Slice::STATIC_SLICE);
    return grpc::ByteBuffer(&slice, 1);
  }
  void Take(const grpc::ByteBuffer& message) {
    std::vector<grpc::Slice> slices;
    CAPSTAN_CHECK(message.Dump(&slices).ok());
    for (const grpc::Slice& slice : slices) {
      std::memcpy(tensor_.data() + at_, slice.begin(), slice.size());
      at_ = (at_ + slice.size()) % kTensor;
    }
  }

 private:
  std::vector<char> tensor_ = std::vector<char>(kTensor, 1);
  size_t at_ = 0;
};

grpc::ByteBuffer Small() {
  grpc::Slice slice(std::string(100, 'x'));
  return grpc::ByteBuffer(&slice, 1);
}

// One call at a time: /push, /pull, /unary.
void Serve() {
  Pin(0);
  Stream stream;
  grpc::AsyncGenericService service;
  grpc::ServerBuilder builder;
  builder.AddListeningPort(kAddress, grpc::InsecureServerCredentials());
  builder.RegisterAsyncGenericService(&service);
  auto queue = builder.AddCompletionQueue();
  auto server = builder.BuildAndStart();
  for (;;) {
    grpc::GenericServerContext context;
    grpc::GenericServerAsyncReaderWriter call(&context);
    service.RequestCall(&context, &call, queue.get(), queue.get(), nullptr);
    if (!Wait(*queue)) return;
    grpc::ByteBuffer message;
    call.Read(&message, nullptr);
    bool ok = Wait(*queue);
    while (context.method() == "/push" && ok) {
      stream.Take(message);
      call.Read(&message, nullptr);
      ok = Wait(*queue);
    }
    for (size_t at = 0; context.method() == "/pull" && at < kTensor; at += kChunk) {
      call.Write(stream.Chunk(at), nullptr);
      Wait(*queue);
    }
    call.WriteAndFinish(Small(), grpc::WriteOptions(), grpc::Status::OK, nullptr);
    Wait(*queue);
  }
}

class RawClient {
 public:
  RawClient() {
    grpc::ChannelArguments arguments;
    arguments.SetMaxReceiveMessageSize(-1);
    auto channel =
        grpc::CreateCustomChannel(kAddress, grpc::InsecureChannelCredentials(), arguments);
    channel->WaitForConnected(std::chrono::system_clock::now() + std::chrono::seconds(20));
    stub_ = std::make_unique<grpc::GenericStub>(channel);
  }

  // GB/s.
  double Push() {
    return Timed("/push", [this](auto& call) {
      for (size_t at = 0; at < kTensor; at += kChunk) {
        call.Write(stream_.Chunk(at), nullptr);
        CAPSTAN_CHECK(Wait(queue_));
      }
      call.WritesDone(nullptr);
      Wait(queue_);
      grpc::ByteBuffer reply;
      call.Read(&reply, nullptr);
      Wait(queue_);
    });
  }

  double Pull() {
    return Timed("/pull", [this](auto& call) {
      call.WriteLast(Small(), grpc::WriteOptions(), nullptr);
      Wait(queue_);
      grpc::ByteBuffer message;
      for (call.Read(&message, nullptr); Wait(queue_); call.Read(&message, nullptr)) {
        if (message.Length() == kChunk) stream_.Take(message);
      }
    });
  }

  // Microseconds.
  double Unary() {
    const double start = Now();
    grpc::ClientContext context;
    auto call = stub_->PrepareUnaryCall(&context, "/unary", Small(), &queue_);
    call->StartCall();
    grpc::ByteBuffer reply;
    grpc::Status status;
    call->Finish(&reply, &status, nullptr);
    Wait(queue_);
    return (Now() - start) * 1e6;
  }

 private:
  template <typename Body>
  double Timed(const std::string& method, const Body& body) {
    const double start = Now();
    grpc::ClientContext context;
    auto call = stub_->PrepareCall(&context, method, &queue_);
    call->StartCall(nullptr);
    Wait(queue_);
    body(*call);
    grpc::Status status;
    call->Finish(&status, nullptr);
    Wait(queue_);
    return static_cast<double>(kTensor) / 1e9 / (Now() - start);
  }

  Stream stream_;
  grpc::CompletionQueue queue_;
  std::unique_ptr<grpc::GenericStub> stub_;
};

}  // namespace

void RunRawStream() {
  const pid_t child = fork();
  if (child == 0) {
    Serve();
    _exit(0);
  }
  WatchServers({child});
  {
    RawClient client;
    constexpr double kGigabytes = static_cast<double>(kTensor) / 1e9;
    Measure({"P0", "gRPC stream pull, 1 MiB, receiver copies", "GB/s"}, kGigabytes,
            [&] { return client.Pull(); });
    Measure({"P0", "gRPC stream push, 1 MiB, receiver copies", "GB/s"}, kGigabytes,
            [&] { return client.Push(); });
    MeasureLatency("P0", "gRPC unary 100 B", kUnaryCalls, [&](size_t) { return client.Unary(); });
  }
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
}

}  // namespace capstan::bench
