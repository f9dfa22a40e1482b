#include "capstan/rpc/health.h"

#include <grpc/grpc.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include <array>
#include <optional>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "capstan/base/status.h"
#include "capstan/rpc/grpc_log.h"
#include "capstan/rpc/listener.h"
#include "grpc/health/v1/health.grpc.pb.h"

namespace capstan {
namespace {

namespace wire = grpc::health::v1;

constexpr int kProbes = 3;
constexpr int kMaxWatchers = 8;  // Each occupies a thread.
// Within this time it is detected that a watcher has gone.
constexpr absl::Duration kWatchTurn = absl::Milliseconds(500);

std::optional<Probe> ProbeOf(const std::string& service) {
  if (service.empty() || service == "liveness") return Probe::kLiveness;
  if (service == "startup") return Probe::kStartup;
  if (service == "readiness") return Probe::kReadiness;
  return std::nullopt;
}

// The synchronous API of gRPC, because it has threads of its own. *Thread-safe*.
class HealthService final : public wire::Health::Service {
 public:
  void Set(Probe probe, bool serving) {
    absl::MutexLock lock(&mu_);
    serving_[static_cast<size_t>(probe)] = serving;
  }

  void Stop() {
    absl::MutexLock lock(&mu_);
    stopping_ = true;
  }

  grpc::Status Check(grpc::ServerContext*, const wire::HealthCheckRequest* request,
                     wire::HealthCheckResponse* response) override {
    const std::optional<Probe> probe = ProbeOf(request->service());
    if (!probe) return grpc::Status(grpc::StatusCode::NOT_FOUND, "no such probe");
    absl::MutexLock lock(&mu_);
    response->set_status(StatusOf(probe));
    return grpc::Status::OK;
  }

  grpc::Status Watch(grpc::ServerContext* context, const wire::HealthCheckRequest* request,
                     grpc::ServerWriter<wire::HealthCheckResponse>* writer) override {
    const std::optional<Probe> probe = ProbeOf(request->service());
    if (!Enter()) return grpc::Status(grpc::StatusCode::RESOURCE_EXHAUSTED, "too many watchers");
    wire::HealthCheckResponse last;
    while (!context->IsCancelled()) {
      if (!AwaitChange(probe, last)) continue;
      if (stopping() || !writer->Write(last)) break;
    }
    Leave();
    return grpc::Status::OK;
  }

 private:
  wire::HealthCheckResponse::ServingStatus StatusOf(std::optional<Probe> probe) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    if (!probe) return wire::HealthCheckResponse::SERVICE_UNKNOWN;
    return serving_[static_cast<size_t>(*probe)] ? wire::HealthCheckResponse::SERVING
                                                 : wire::HealthCheckResponse::NOT_SERVING;
  }

  bool Enter() {
    absl::MutexLock lock(&mu_);
    if (watchers_ == kMaxWatchers) return false;
    ++watchers_;
    return true;
  }

  void Leave() {
    absl::MutexLock lock(&mu_);
    --watchers_;
  }

  bool stopping() {
    absl::MutexLock lock(&mu_);
    return stopping_;
  }

  // Waits at most kWatchTurn. Returns true if `last` was brought up to date, or the server stops.
  bool AwaitChange(std::optional<Probe> probe, wire::HealthCheckResponse& last) {
    absl::MutexLock lock(&mu_);
    auto changed = [this, probe, &last]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
      return stopping_ || StatusOf(probe) != last.status();
    };
    if (!mu_.AwaitWithTimeout(absl::Condition(&changed), kWatchTurn)) return false;
    last.set_status(StatusOf(probe));
    return true;
  }

  absl::Mutex mu_;
  std::array<bool, kProbes> serving_ ABSL_GUARDED_BY(mu_) = {false, true, false};
  int watchers_ ABSL_GUARDED_BY(mu_) = 0;
  bool stopping_ ABSL_GUARDED_BY(mu_) = false;
};

class GrpcHealthServer final : public HealthServer {
 public:
  GrpcHealthServer() = default;
  ~GrpcHealthServer() override {
    listener_.reset();
    service_.Stop();
    if (server_ != nullptr) server_->Shutdown(absl::ToChronoTime(absl::Now() + absl::Seconds(1)));
  }

  absl::Status Listen(const std::string& address) {
    SilenceGrpc();
    CAPSTAN_ASSIGN_OR_RETURN(listener_, Listener::Open(address));
    port_ = listener_->port();
    grpc::ServerBuilder builder;
    listener_->Attach(builder, grpc::InsecureServerCredentials());
    builder.RegisterService(&service_);
    builder.SetSyncServerOption(grpc::ServerBuilder::SyncServerOption::NUM_CQS, 1);
    builder.SetSyncServerOption(grpc::ServerBuilder::SyncServerOption::MIN_POLLERS, 1);
    builder.SetSyncServerOption(grpc::ServerBuilder::SyncServerOption::MAX_POLLERS, 1);
    builder.SetMaxReceiveMessageSize(4096);
    server_ = builder.BuildAndStart();
    if (server_ == nullptr) {
      return absl::UnavailableError(absl::StrCat("cannot serve on ", address));
    }
    listener_->Start();
    return absl::OkStatus();
  }

  int port() const override { return port_; }
  void Set(Probe probe, bool serving) override { service_.Set(probe, serving); }

 private:
  HealthService service_;
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<Listener> listener_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<HealthServer>> HealthServer::Start(const std::string& listen) {
  auto server = std::make_unique<GrpcHealthServer>();
  if (absl::Status listening = server->Listen(listen); !listening.ok()) return listening;
  return std::unique_ptr<HealthServer>(std::move(server));
}

}  // namespace capstan
