#include "chief/shell/chief_door.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "capstan/base/failpoint.h"
#include "capstan/base/log.h"
#include "capstan/base/quote.h"
#include "capstan/base/status.h"
#include "capstan/security/role.h"
#include "chief/state/warnings.h"

namespace capstan::chief {
namespace {

constexpr size_t kMostLoggedReason = 1024;  // Bytes.

absl::Status TooOften(const ChiefCaller& caller) {
  return absl::ResourceExhaustedError(
      absl::StrCat(caller.host, " has registered too many workers in a short time; try again"));
}

}  // namespace

void ChiefDoor::Tell(const v1::GetStatusReply& status) {
  absl::MutexLock lock(&mu_);
  told_ = status;
}

absl::Status ChiefDoor::WhyNotOpen() {
  absl::MutexLock lock(&mu_);
  const std::string why = absl::StrCat(told_.reason(), told_.waiting_for());
  return absl::UnavailableError(why.empty() ? "the chief is starting"
                                            : absl::StrCat("the chief has no job yet: ", why));
}

// ---- shards ----

// Returns true if the caller's certificate is restricted to this shard.
bool ChiefDoor::ShowsNumber(const ChiefCaller& caller, uint32_t shard) const {
  return caller.names && IsOfShard(*caller.names, parts_.job, shard);
}

// `chief` is null if the chief has no job yet, and does not know which shards have shown their
// numbers.
ChiefDoor::Lack ChiefDoor::CertificateLacks(const ChiefCaller& caller, uint32_t shard,
                                            const ChiefMachine* chief) const {
  if (!caller.names) return Lack::kNothing;
  if (!MayActForShard(*caller.names, parts_.job, shard)) return Lack::kShard;
  const bool believed =
      ShowsNumber(caller, shard) || chief == nullptr || chief->MayBeUnnumbered(shard);
  return believed ? Lack::kNothing : Lack::kNumber;
}

absl::Status ChiefDoor::Refuse(Lack lack, const ChiefCaller& caller, uint32_t shard) {
  std::string_view logged;
  std::string told;
  switch (lack) {
    case Lack::kNothing:
      return absl::OkStatus();
    case Lack::kShard:
      logged = "refused: somebody acts for a shard with the certificate of another one";
      told = absl::StrCat("the certificate is of another shard than ", shard);
      break;
    case Lack::kNumber:
      logged = "refused: somebody acts for a shard with a certificate without its number";
      told = absl::StrCat("the certificate carries no number, and that of shard ", shard,
                          " has to (docs/tls.md)");
      break;
    case Lack::kSecret:
      logged = "refused: somebody acts for a shard without the secret of its process";
      told = absl::StrCat("the secret is not that of this process of shard ", shard);
      break;
  }
  log::Warn(logged, {{"shard", absl::StrCat(shard)}, {"by", caller.text}});
  return absl::PermissionDeniedError(told);
}

absl::StatusOr<v1::RegisterShardReply> ChiefDoor::RegisterShard(
    const ChiefCaller& caller, const v1::RegisterShardRequest& request) {
  MachineAccess* const machine = machine_.load();
  if (machine == nullptr) return WhyNotOpen();
  const uint32_t shard = request.index();
  Lack lack = Lack::kNothing;
  auto result = machine->Run(
      [&](ChiefMachine& chief, absl::Time now) -> absl::StatusOr<v1::RegisterShardReply> {
        lack = CertificateLacks(caller, shard, &chief);
        if (lack != Lack::kNothing) return v1::RegisterShardReply();
        const bool watched = parts_.views.IsWatching(chief.ShardIncarnation(shard));
        auto reply = chief.RegisterShard(request, now, watched);
        if (absl::IsPermissionDenied(reply.status())) lack = Lack::kSecret;
        if (reply.ok() && ShowsNumber(caller, shard)) chief.NoteNumbered(shard);
        return reply;
      });
  CAPSTAN_RETURN_IF_ERROR(Refuse(lack, caller, shard));
  CAPSTAN_FAILPOINT("shard.register_answer");
  return result;
}

absl::StatusOr<v1::ShardHeartbeatReply> ChiefDoor::ShardHeartbeat(
    const ChiefCaller& caller, const v1::ShardHeartbeatRequest& request) {
  MachineAccess* const machine = machine_.load();
  if (machine == nullptr) return WhyNotOpen();
  const uint32_t shard = request.index();
  Lack lack = Lack::kNothing;
  v1::ShardHeartbeatReply reply = machine->Run([&](ChiefMachine& chief, absl::Time now) {
    lack = CertificateLacks(caller, shard, &chief);
    if (lack == Lack::kNothing && !chief.MaySpeak(shard, request.incarnation(), request.secret())) {
      lack = Lack::kSecret;
    }
    if (lack != Lack::kNothing) return v1::ShardHeartbeatReply();
    v1::ShardHeartbeatReply heard = chief.ShardHeartbeat(request, now);
    if (heard.known() && ShowsNumber(caller, shard)) chief.NoteNumbered(shard);
    return heard;
  });
  CAPSTAN_RETURN_IF_ERROR(Refuse(lack, caller, shard));
  CAPSTAN_FAILPOINT("shard.heartbeat_answer");
  return reply;
}

// ---- workers ----

void ChiefDoor::TakeFailure(const std::string& worker, const v1::UserCodeError& error) {
  log::Warn(failures_.Note(worker, error, parts_.clock.Now()));
}

void ChiefDoor::TakeIn(const v1::RegisterWorkerRequest& worker) {
  failures_.Forget(worker.name());
  const std::string odd = parts_.models.OddFacts(worker);
  odd_workers_.Note(worker.name(), odd);
  if (!odd.empty()) log::Warn(odd, {{"worker", worker.name()}});
}

absl::StatusOr<v1::RegisterWorkerReply> ChiefDoor::RegisterWorker(
    const ChiefCaller& caller, const v1::RegisterWorkerRequest& request) {
  if (request.has_failed()) {
    if (!registrations_.Takes(caller.host, parts_.clock.Now())) return TooOften(caller);
    TakeFailure(request.name(), request.failed());
    return v1::RegisterWorkerReply();
  }
  if (std::optional<absl::StatusOr<v1::RegisterWorkerReply>> answer =
          parts_.models.Answer(request)) {
    if (absl::IsFailedPrecondition(answer->status()) &&
        registrations_.Takes(caller.host, parts_.clock.Now())) {
      v1::UserCodeError error;
      error.set_message(std::string(answer->status().message()));
      TakeFailure(request.name(), error);
    }
    return *std::move(answer);
  }
  MachineAccess* const machine = machine_.load();
  if (machine == nullptr) return WhyNotOpen();
  auto result = machine->Run(
      [&](ChiefMachine& chief, absl::Time now) -> absl::StatusOr<v1::RegisterWorkerReply> {
        if (!registrations_.Has(caller.host, parts_.clock.Now())) return TooOften(caller);
        const uint64_t before = chief.trainers_given();
        auto reply = chief.RegisterWorker(request, now, caller.host);
        // Counts only registrations that have used up new ids.
        if (chief.trainers_given() != before) {
          registrations_.Takes(caller.host, parts_.clock.Now());
        }
        return reply;
      });
  if (result.ok()) TakeIn(request);
  CAPSTAN_FAILPOINT("worker.register_answer");
  return result;
}

absl::StatusOr<v1::WorkerHeartbeatReply> ChiefDoor::WorkerHeartbeat(
    const v1::WorkerHeartbeatRequest& request) {
  MachineAccess* const machine = machine_.load();
  if (machine == nullptr) {
    if (!parts_.models.WantsModel()) return WhyNotOpen();
    // A worker of an earlier run has to register, or it would never declare the model.
    return v1::WorkerHeartbeatReply();
  }
  v1::WorkerHeartbeatReply reply = machine->Run(
      [&](ChiefMachine& chief, absl::Time now) { return chief.WorkerHeartbeat(request, now); });
  CAPSTAN_FAILPOINT("worker.heartbeat_answer");
  return reply;
}

// ---- watchers ----

// Before the chief has its job it does not know which processes have secrets.
bool ChiefDoor::MayWatchAsShard(const ChiefCaller& caller, const v1::WatchViewRequest& request) {
  MachineAccess* const machine = machine_.load();
  if (machine == nullptr) {
    return CertificateLacks(caller, request.shard(), nullptr) == Lack::kNothing;
  }
  return machine->Run([&](const ChiefMachine& chief, absl::Time) {
    return CertificateLacks(caller, request.shard(), &chief) == Lack::kNothing &&
           chief.MaySpeak(request.shard(), request.shard_incarnation(), request.secret());
  });
}

grpc::ServerWriteReactor<v1::View>* ChiefDoor::WatchView(const ChiefCaller& caller,
                                                         const v1::WatchViewRequest& request) {
  ViewFeed::ShardProcess process{request.shard(), request.shard_incarnation()};
  if (process.incarnation != 0 && !MayWatchAsShard(caller, request)) process = {};
  return parts_.views.Watch({caller.host, process, request.differences()});
}

// ---- people ----

absl::StatusOr<v1::GetStatusReply> ChiefDoor::Status() {
  v1::GetStatusReply status;
  if (MachineAccess* const machine = machine_.load(); machine != nullptr) {
    status = machine->Status();
  } else {
    absl::MutexLock lock(&mu_);
    status = told_;
  }
  if (status.state() == v1::JOB_STATE_UNSPECIFIED) return WhyNotOpen();
  for (const std::string& told : failures_.Told(parts_.clock.Now())) {
    AddWarning(/*about=*/told, told, status);
  }
  odd_workers_.AddTo(status);
  return status;
}

absl::Status ChiefDoor::StopJob(const ChiefCaller& caller, const v1::StopJobRequest& request) {
  MachineAccess* const machine = machine_.load();
  if (machine == nullptr) return WhyNotOpen();
  log::Info("asked to stop the job",
            {{"reason", FirstBytes(request.reason(), kMostLoggedReason)}, {"by", caller.text}});
  machine->Run([&](ChiefMachine& chief, absl::Time now) { chief.StopJob(request.reason(), now); });
  return absl::OkStatus();
}

void ChiefDoor::TakeCheckpoint(const ChiefCaller& caller, MachineAccess::OnCheckpoint done) {
  MachineAccess* const machine = machine_.load();
  if (machine == nullptr) return done(WhyNotOpen());
  log::Info("asked for a checkpoint", {{"by", caller.text}});
  machine->TakeCheckpoint(std::move(done));
}

absl::StatusOr<v1::RebalanceReply> ChiefDoor::Rebalance(const ChiefCaller& caller,
                                                        const v1::RebalanceRequest& request) {
  MachineAccess* const machine = machine_.load();
  if (machine == nullptr) return WhyNotOpen();
  log::Info(request.plan_only() ? "asked for a plan of moves" : "asked to move partitions",
            {{"by", caller.text}});
  return machine->Run(
      [&](ChiefMachine& chief, absl::Time now) { return chief.Rebalance(request, now); });
}

}  // namespace capstan::chief
