#include "chief/shell/chief_service.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "capstan/base/clock.h"
#include "capstan/base/failpoint.h"
#include "capstan/base/log.h"
#include "capstan/base/quote.h"
#include "capstan/rpc/caller.h"
#include "capstan/rpc/status.h"
#include "chief/state/warnings.h"

namespace capstan::chief {
namespace {

constexpr size_t kMostLoggedReason = 1024;  // Bytes.

template <typename Reply>
grpc::ServerUnaryReactor* Finish(grpc::CallbackServerContext* context, absl::StatusOr<Reply> result,
                                 Reply* reply) {
  if (result.ok()) *reply = *std::move(result);
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  reactor->Finish(ToGrpcStatus(result.status()));
  return reactor;
}

grpc::ServerUnaryReactor* FinishOk(grpc::CallbackServerContext* context) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  reactor->Finish(grpc::Status::OK);
  return reactor;
}

absl::StatusOr<v1::RegisterWorkerReply> TooOften(const std::string& peer) {
  return absl::ResourceExhaustedError(
      absl::StrCat(peer, " has registered too many workers in a short time; try again"));
}

void LogRefused(const grpc::CallbackServerContext& context, std::string_view what, uint32_t shard) {
  log::Warn(what, {{"shard", absl::StrCat(shard)}, {"by", CallerOf(context)}});
}

constexpr std::string_view kOfAnotherProcess =
    "refused: somebody acts for a shard without the secret of its process";

grpc::ServerUnaryReactor* OfAnotherProcess(grpc::CallbackServerContext* context, uint32_t shard) {
  LogRefused(*context, kOfAnotherProcess, shard);
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  reactor->Finish({grpc::StatusCode::PERMISSION_DENIED,
                   absl::StrCat("the secret is not that of this process of shard ", shard)});
  return reactor;
}

grpc::ServerUnaryReactor* OfAnotherShard(grpc::CallbackServerContext* context, uint32_t shard) {
  LogRefused(*context, "refused: somebody acts for a shard with the certificate of another one",
             shard);
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  reactor->Finish({grpc::StatusCode::PERMISSION_DENIED,
                   absl::StrCat("the certificate is of another shard than ", shard)});
  return reactor;
}

}  // namespace

void ChiefService::Tell(const v1::GetStatusReply& status) {
  absl::MutexLock lock(&mu_);
  told_ = status;
}

grpc::Status ChiefService::WhyNotOpen() {
  absl::MutexLock lock(&mu_);
  const std::string why = absl::StrCat(told_.reason(), told_.waiting_for());
  return {grpc::StatusCode::UNAVAILABLE,
          why.empty() ? "the chief is starting" : absl::StrCat("the chief has no job yet: ", why)};
}

grpc::ServerUnaryReactor* ChiefService::NotOpen(grpc::CallbackServerContext* context) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  reactor->Finish(WhyNotOpen());
  return reactor;
}

void ChiefService::TakeFailure(const std::string& worker, const v1::UserCodeError& error) {
  log::Warn(failures_.Note(worker, error, SteadyClock().Now()));
}

void ChiefService::TakeIn(const v1::RegisterWorkerRequest& worker) {
  failures_.Forget(worker.name());
  const std::string odd = models_.OddFacts(worker);
  odd_workers_.Note(worker.name(), odd);
  if (!odd.empty()) log::Warn(odd, {{"worker", worker.name()}});
}

grpc::ServerUnaryReactor* ChiefService::RegisterShard(grpc::CallbackServerContext* context,
                                                      const v1::RegisterShardRequest* request,
                                                      v1::RegisterShardReply* reply) {
  ControlLoop* control = control_.load();
  if (control == nullptr) return NotOpen(context);
  if (!MayActForShard(*context, tls_, request->index())) {
    return OfAnotherShard(context, request->index());
  }
  auto result = control->Run([this, request](ChiefMachine& chief, absl::Time now) {
    const bool watched = views_.IsWatching(chief.ShardIncarnation(request->index()));
    return chief.RegisterShard(*request, now, watched);
  });
  if (absl::IsPermissionDenied(result.status())) {
    LogRefused(*context, kOfAnotherProcess, request->index());
  }
  CAPSTAN_FAILPOINT("shard.register_answer");
  return Finish(context, std::move(result), reply);
}

grpc::ServerUnaryReactor* ChiefService::RegisterWorker(grpc::CallbackServerContext* context,
                                                       const v1::RegisterWorkerRequest* request,
                                                       v1::RegisterWorkerReply* reply) {
  const std::string peer = PeerHost(*context);
  if (request->has_failed()) {
    if (!registrations_.Takes(peer, SteadyClock().Now())) {
      return Finish(context, TooOften(peer), reply);
    }
    TakeFailure(request->name(), request->failed());
    return FinishOk(context);
  }
  if (std::optional<absl::StatusOr<v1::RegisterWorkerReply>> answer = models_.Answer(*request)) {
    if (absl::IsFailedPrecondition(answer->status()) &&
        registrations_.Takes(peer, SteadyClock().Now())) {
      v1::UserCodeError error;
      error.set_message(std::string(answer->status().message()));
      TakeFailure(request->name(), error);
    }
    return Finish(context, *std::move(answer), reply);
  }
  ControlLoop* control = control_.load();
  if (control == nullptr) return NotOpen(context);
  auto result = control->Run([this, request, &peer](ChiefMachine& chief, absl::Time now) {
    if (!registrations_.Has(peer, SteadyClock().Now())) return TooOften(peer);
    const uint64_t before = chief.trainers_given();
    absl::StatusOr<v1::RegisterWorkerReply> answer = chief.RegisterWorker(*request, now, peer);
    // Counts only registrations that have taken new numbers.
    if (chief.trainers_given() != before) registrations_.Takes(peer, SteadyClock().Now());
    return answer;
  });
  if (result.ok()) TakeIn(*request);
  CAPSTAN_FAILPOINT("worker.register_answer");
  return Finish(context, std::move(result), reply);
}

grpc::ServerWriteReactor<v1::View>* ChiefService::WatchView(grpc::CallbackServerContext* context,
                                                            const v1::WatchViewRequest* request) {
  ViewFeed::ShardProcess process{request->shard(), request->shard_incarnation()};
  // Anybody may watch, but only a shard itself may say that it is the shard.
  if (process.incarnation != 0 && !MayWatchAsShard(*context, *request)) process = {};
  return views_.Watch({PeerHost(*context), process, request->differences()});
}

// Before the chief has its job it does not know which processes have secrets.
bool ChiefService::MayWatchAsShard(const grpc::CallbackServerContext& context,
                                   const v1::WatchViewRequest& request) {
  if (!MayActForShard(context, tls_, request.shard())) return false;
  ControlLoop* control = control_.load();
  return control == nullptr || control->Run([&request](const ChiefMachine& chief, absl::Time) {
    return chief.MaySpeak(request.shard(), request.shard_incarnation(), request.secret());
  });
}

grpc::ServerUnaryReactor* ChiefService::ShardHeartbeat(grpc::CallbackServerContext* context,
                                                       const v1::ShardHeartbeatRequest* request,
                                                       v1::ShardHeartbeatReply* reply) {
  ControlLoop* control = control_.load();
  if (control == nullptr) return NotOpen(context);
  if (!MayActForShard(*context, tls_, request->index())) {
    return OfAnotherShard(context, request->index());
  }
  bool its_own = true;
  *reply = control->Run([request, &its_own](ChiefMachine& chief, absl::Time now) {
    its_own = chief.MaySpeak(request->index(), request->incarnation(), request->secret());
    return chief.ShardHeartbeat(*request, now);
  });
  if (!its_own) return OfAnotherProcess(context, request->index());
  CAPSTAN_FAILPOINT("shard.heartbeat_answer");
  return FinishOk(context);
}

grpc::ServerUnaryReactor* ChiefService::WorkerHeartbeat(grpc::CallbackServerContext* context,
                                                        const v1::WorkerHeartbeatRequest* request,
                                                        v1::WorkerHeartbeatReply* reply) {
  ControlLoop* control = control_.load();
  if (control == nullptr) {
    if (!models_.WantsModel()) return NotOpen(context);
    // A worker of the run before has to register, or it would never declare the model.
    reply->set_known(false);
    return FinishOk(context);
  }
  *reply = control->Run([request](ChiefMachine& chief, absl::Time now) {
    return chief.WorkerHeartbeat(*request, now);
  });
  CAPSTAN_FAILPOINT("worker.heartbeat_answer");
  return FinishOk(context);
}

grpc::ServerUnaryReactor* ChiefService::GetStatus(grpc::CallbackServerContext* context,
                                                  const v1::GetStatusRequest*,
                                                  v1::GetStatusReply* reply) {
  if (ControlLoop* control = control_.load(); control != nullptr) {
    *reply = control->Status();
  } else {
    absl::MutexLock lock(&mu_);
    *reply = told_;
  }
  for (const std::string& told : failures_.Told(SteadyClock().Now())) {
    AddWarning(/*about=*/told, told, *reply);
  }
  odd_workers_.AddTo(*reply);
  return reply->state() == v1::JOB_STATE_UNSPECIFIED ? NotOpen(context) : FinishOk(context);
}

grpc::ServerUnaryReactor* ChiefService::StopJob(grpc::CallbackServerContext* context,
                                                const v1::StopJobRequest* request,
                                                v1::StopJobReply*) {
  ControlLoop* control = control_.load();
  if (control == nullptr) return NotOpen(context);
  log::Info("asked to stop the job", {{"reason", FirstBytes(request->reason(), kMostLoggedReason)},
                                      {"by", CallerOf(*context)}});
  control->Run(
      [request](ChiefMachine& chief, absl::Time now) { chief.StopJob(request->reason(), now); });
  return FinishOk(context);
}

grpc::ServerReadReactor<v1::DeclareModelRequest>* ChiefService::DeclareModel(
    grpc::CallbackServerContext*, v1::DeclareModelReply* reply) {
  return models_.Take(reply);
}

grpc::ServerUnaryReactor* ChiefService::TakeCheckpoint(grpc::CallbackServerContext* context,
                                                       const v1::TakeCheckpointRequest*,
                                                       v1::TakeCheckpointReply* reply) {
  ControlLoop* control = control_.load();
  if (control == nullptr) return NotOpen(context);
  log::Info("asked for a checkpoint", {{"by", CallerOf(*context)}});
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  control->TakeCheckpoint([reactor, reply](const absl::StatusOr<std::string>& uri) {
    if (uri.ok()) reply->set_uri(*uri);
    reactor->Finish(ToGrpcStatus(uri.status()));
  });
  return reactor;
}

grpc::ServerUnaryReactor* ChiefService::Rebalance(grpc::CallbackServerContext* context,
                                                  const v1::RebalanceRequest* request,
                                                  v1::RebalanceReply* reply) {
  ControlLoop* control = control_.load();
  if (control == nullptr) return NotOpen(context);
  log::Info(request->plan_only() ? "asked for a plan of moves" : "asked to move partitions",
            {{"by", CallerOf(*context)}});
  return Finish(context, control->Run([request](ChiefMachine& chief, absl::Time now) {
    return chief.Rebalance(*request, now);
  }),
                reply);
}

}  // namespace capstan::chief
