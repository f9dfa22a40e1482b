#include "tests/integration/shard/flaky_proxy.h"

#include <grpcpp/generic/generic_stub.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "capstan/base/check.h"
#include "capstan/base/hash.h"
#include "capstan/rpc/channel.h"
#include "capstan/v1/ps.grpc.pb.h"

namespace capstan {
namespace {

constexpr char kPull[] = "/capstan.v1.Ps/Pull";
constexpr char kPush[] = "/capstan.v1.Ps/Push";

// One forwarded call; owns itself until its answer has come.
struct Forwarded {
  grpc::ClientContext context;
  grpc::ByteBuffer request;
  grpc::ByteBuffer reply;
};

}  // namespace

class FlakyProxy::Service final : public v1::Ps::WithRawCallbackMethod_Pull<
                                      v1::Ps::WithRawCallbackMethod_Push<v1::Ps::CallbackService>> {
 public:
  Service(const std::string& target, const Faults& faults, uint64_t seed)
      : stub_(NewChannel(target, Role::kPs, /*tls=*/nullptr)), faults_(faults), seed_(seed) {}

  ~Service() override {
    absl::MutexLock lock(&mu_);
    auto quiet = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) { return under_way_ == 0; };
    mu_.Await(absl::Condition(&quiet));
  }

  grpc::ServerUnaryReactor* Pull(grpc::CallbackServerContext* context,
                                 const grpc::ByteBuffer* request,
                                 grpc::ByteBuffer* reply) override {
    return Handle(context, kPull, *request, reply);
  }
  grpc::ServerUnaryReactor* Push(grpc::CallbackServerContext* context,
                                 const grpc::ByteBuffer* request,
                                 grpc::ByteBuffer* reply) override {
    return Handle(context, kPush, *request, reply);
  }

  std::atomic<int> lost_requests{0};
  std::atomic<int> lost_replies{0};
  std::atomic<int> repeated{0};
  std::atomic<int> forwarded{0};

 private:
  grpc::ServerUnaryReactor* Handle(grpc::CallbackServerContext* context, const char* method,
                                   const grpc::ByteBuffer& request, grpc::ByteBuffer* reply) {
    grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
    const grpc::Status lost(grpc::StatusCode::UNAVAILABLE, "lost by the proxy");
    int dice = static_cast<int>(Draw(seed_, 0, next_++) % 100);
    if ((dice -= faults_.lost_requests) < 0) {
      ++lost_requests;
      reactor->Finish(lost);
      return reactor;
    }
    const bool lose_reply = dice < faults_.lost_replies;
    const bool repeat = !lose_reply && dice < faults_.lost_replies + faults_.repeated;
    if (lose_reply) ++lost_replies;
    Forward(method, request,
            [this, method, request, reactor, reply, lost, lose_reply, repeat](
                grpc::Status status, grpc::ByteBuffer answer) {
              *reply = answer;
              reactor->Finish(lose_reply ? lost : status);
              if (!repeat) return;
              ++repeated;
              Forward(method, request, [](grpc::Status, grpc::ByteBuffer) {});
            });
    return reactor;
  }

  template <typename Done>
  void Forward(const char* method, const grpc::ByteBuffer& request, Done done) {
    ++forwarded;
    {
      absl::MutexLock lock(&mu_);
      ++under_way_;
    }
    auto call = std::make_shared<Forwarded>();
    call->request = request;
    stub_.UnaryCall(&call->context, method, grpc::StubOptions(), &call->request, &call->reply,
                    [this, call, done](grpc::Status status) mutable {
                      done(std::move(status), call->reply);
                      absl::MutexLock lock(&mu_);
                      --under_way_;
                    });
  }

  grpc::GenericStub stub_;
  const Faults faults_;
  const uint64_t seed_;
  std::atomic<uint64_t> next_{0};
  absl::Mutex mu_;
  int under_way_ ABSL_GUARDED_BY(mu_) = 0;
};

FlakyProxy::FlakyProxy(const std::string& target, const Faults& faults, uint64_t seed)
    : service_(std::make_unique<Service>(target, faults, seed)) {
  auto server = Server::Start({.listen = "127.0.0.1:0"}, {service_.get()});
  CAPSTAN_CHECK(server.ok());
  server_ = *std::move(server);
}

FlakyProxy::~FlakyProxy() { server_->Shutdown(absl::Seconds(5)); }

std::string FlakyProxy::address() const { return absl::StrCat("127.0.0.1:", server_->port()); }
int FlakyProxy::lost_requests() const { return service_->lost_requests; }
int FlakyProxy::lost_replies() const { return service_->lost_replies; }
int FlakyProxy::repeated() const { return service_->repeated; }
int FlakyProxy::forwarded() const { return service_->forwarded; }

}  // namespace capstan
