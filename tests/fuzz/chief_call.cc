// What stands between a request that somebody sends the chief and its machine: the chief's door,
// with any certificate and from any address, before and after the chief has its job. Whatever
// arrives, it answers, and what may not be changes nothing: no address takes more numbers for
// trainers, or watches more often, than it may, and none is kept from it by calls that have ended;
// leases go to the trainers of the worker that asks; nobody is taken for a shard whose certificate
// or secret is another one's; whoever asks for a checkpoint is answered once; the status can be
// read; and the machine goes on.
//
// First byte: the job, and how the chief is set. The rest is a list of calls, of addresses and of
// certificates of those who call from then on, and of time that passes.
#include <algorithm>
#include <cstdint>
#include <deque>
#include <initializer_list>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "capstan/base/absl_view.h"
#include "capstan/base/check.h"
#include "capstan/base/clock.h"
#include "capstan/base/log.h"
#include "capstan/base/wire_version.h"
#include "capstan/security/role.h"
#include "capstan/security/shard_secret.h"
#include "capstan/v1/chief.pb.h"
#include "chief/shell/chief_door.h"
#include "chief/shell/model_intake.h"
#include "chief/shell/refusal.h"
#include "chief/shell/view_feed.h"
#include "tests/fuzz/caller.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/known_workers.h"
#include "tests/fuzz/messages.h"
#include "tests/unit/chief/crew.h"
#include "tests/unit/chief/crew_access.h"
#include "tests/unit/chief/watch_call.h"

namespace capstan::chief {
namespace {

constexpr char kHonest[] = "honest";
constexpr uint8_t kHosts = 4;
constexpr double kRegistrationsAtOnce = 4;
constexpr size_t kMostWatchers = 6;
constexpr size_t kMostOfAHost = 3;

enum Kind : uint8_t {
  kRegisterShard,
  kShardHeartbeat,
  kRegisterWorker,
  kWorkerHeartbeat,
  kWatchView,
  kEndWatch,
  kGetStatus,
  kStopJob,
  kTakeCheckpoint,
  kRebalance,
  kSecondPasses,
  kHost,
  kCaller,
  kOpen,
  kKinds,
};

CrewOptions JobOf(uint8_t choice) {
  CrewOptions options = {.tasks = 3, .threads = 2};
  if (choice % 2 == 1) options.lanes = 2;
  if (choice / 2 % 2 == 1) options.uri = "/models";
  if (choice / 4 % 2 == 1) options.replicas = 1;
  if (choice / 8 % 2 == 1) options.unnumbered_shards = UnnumberedShards::kAccept;
  if (choice / 16 % 2 == 1) options.unnumbered_shards = UnnumberedShards::kRefuse;
  return options;
}

std::string HostOf(uint8_t number) { return absl::StrCat("ipv4:10.0.0.", number % kHosts); }

void CheckReadable(const v1::GetStatusReply& status) {
  v1::GetStatusReply read;
  CAPSTAN_CHECK(read.ParseFromString(status.SerializeAsString()));
}

class Asked {
 public:
  explicit Asked(uint8_t choice) : options_(JobOf(choice)), crew_(options_) {
    crew_.RegisterShards();
    crew_.RegisterWorker(kHonest, 0, {}, "ipv4:10.0.1.1");
    access_.CatchUp();
    if (choice / 32 % 2 == 1) models_.Know(crew_.machine.plan().spec, v1::StoredModel());
    if (choice / 64 % 2 == 1) door_.Tell(LookingStatus("test"));
    if (choice / 128 % 2 == 0) Open();
  }

  void Hear(uint8_t kind, std::string_view message) {
    Call(kind, message);
    for (Watching& watching : watches_) {
      watching.call->TakeWrites();
      if (!crew_.views.empty()) watching.call->CheckHas(crew_.views.back());
    }
  }

  void End() {
    watches_.clear();
    TellOfEndedWatches();
    for (uint8_t host = 0; host < kHosts; ++host) CheckThatItMayWatch(HostOf(host));
    access_.AnswerAskers();
    CAPSTAN_CHECK(answers_ == askers_);
    for (int i = 0; i < 3; ++i) SecondPasses();
    CheckReadable(crew_.Status());
    CAPSTAN_CHECK(crew_.Heartbeat(kHonest, {}, /*wants=*/false).known());
    feed_.Close();
    CAPSTAN_CHECK(Watch({.host = HostOf(0)}, {}, /*as_shard=*/false)->over());
  }

 private:
  struct Watching {
    std::string host;
    std::unique_ptr<WatchCall> call;
  };
  void Call(uint8_t kind, std::string_view message) {
    // Kinds above those are for what this target learns of later.
    if (kind >= kFirstFurther) return;
    switch (static_cast<Kind>(kind % kKinds)) {
      case kRegisterShard:
        return RegisterShard(message);
      case kShardHeartbeat:
        return ShardHeartbeat(message);
      case kRegisterWorker:
        return RegisterWorker(message);
      case kWorkerHeartbeat:
        return WorkerHeartbeat(message);
      case kWatchView:
        return WatchView(message);
      case kEndWatch:
        if (!watches_.empty()) watches_.pop_front();
        return TellOfEndedWatches();
      case kGetStatus:
        return GetStatus();
      case kSecondPasses:
        return SecondPasses();
      case kHost:
        if (!message.empty()) host_ = HostOf(static_cast<uint8_t>(message[0]));
        return;
      case kCaller:
        return caller_.Become(message);
      case kOpen:
        return Open();
      default:
        return Order(static_cast<Kind>(kind % kKinds), message);
    }
  }

  bool MayCall(std::string_view method, std::initializer_list<Role> roles) const {
    return caller_.MayCall(absl::StrCat("/capstan.v1.Chief/", AbslView(method)), roles);
  }
  ChiefCaller CallerOfNow() const {
    return {.host = host_, .text = host_, .names = caller_.names()};
  }

  void Open() {
    if (!open_) door_.Open(access_);
    open_ = true;
  }
  // Before the chief has its job it says so, and nothing else.
  void CheckOpen(const absl::Status& status) const {
    CAPSTAN_CHECK(open_ || absl::IsUnavailable(status));
  }

  // The honest worker is heard of meanwhile, and takes no work.
  void SecondPasses() {
    crew_.Heartbeat(kHonest, {}, /*wants=*/false);
    clock_.Advance(absl::Seconds(1));
    crew_.Advance(absl::Seconds(1));
    access_.CatchUp();
    ++seconds_;
  }

  // ---- shards ----

  bool ShowsNumber(uint32_t shard) const {
    return caller_.names() && IsOfShard(*caller_.names(), Caller::kJob, shard);
  }
  // Whether the caller is believed to be this process of the shard.
  bool MayAct(uint32_t shard, uint64_t incarnation, const std::string& secret) const {
    if (!caller_.MayActForShard(shard)) return false;
    if (!open_) return true;
    return (!caller_.names() || ShowsNumber(shard) || crew_.machine.MayBeUnnumbered(shard)) &&
           crew_.machine.MaySpeak(shard, incarnation, secret);
  }

  // `ask` returns whether the chief has taken in what the process says; an error: it is refused.
  template <typename Request, typename Ask>
  bool ActForShard(const Request& request, Ask ask) {
    const uint32_t shard = request.index();
    const bool may = MayAct(shard, request.incarnation(), request.secret());
    const std::string before = may ? "" : crew_.Status().DebugString();
    const absl::StatusOr<bool> taken = ask();
    CheckOpen(taken.status());
    CAPSTAN_CHECK(may || (!taken.ok() && crew_.Status().DebugString() == before));
    if (!taken.ok() || !*taken) return false;
    if (caller_.names() && !ShowsNumber(shard)) {
      const UnnumberedShards rule = options_.unnumbered_shards;
      CAPSTAN_CHECK(rule != UnnumberedShards::kRefuse);
      CAPSTAN_CHECK(rule == UnnumberedShards::kAccept || !numbered_.contains(shard));
    }
    if (ShowsNumber(shard)) numbered_.insert(shard);
    return true;
  }

  // A process with a secret, and without an incarnation, has that which is made of it.
  template <typename Request>
  static void Complete(Request& request) {
    if (request.incarnation() != 0 || request.secret().empty()) return;
    request.set_incarnation(Raw(IncarnationOfSecret(request.secret())));
  }

  void RegisterShard(std::string_view message) {
    v1::RegisterShardRequest request;
    if (!MayCall("RegisterShard", {Role::kPs}) || !Parse(message, request)) return;
    if (request.wire_version() == 0) request.set_wire_version(kWireVersion);
    Complete(request);
    const bool registered = ActForShard(request, [&]() -> absl::StatusOr<bool> {
      const absl::Status status = door_.RegisterShard(CallerOfNow(), request).status();
      if (!status.ok()) return status;
      return true;
    });
    if (!registered) return;
    crew_.shards[request.index()] = {.incarnation = request.incarnation(),
                                     .loaded_timeline = request.loaded_timeline(),
                                     .secret = request.secret()};
  }

  void ShardHeartbeat(std::string_view message) {
    v1::ShardHeartbeatRequest request;
    if (!MayCall("ShardHeartbeat", {Role::kPs}) || !Parse(message, request)) return;
    Complete(request);
    ActForShard(request, [&]() -> absl::StatusOr<bool> {
      const auto reply = door_.ShardHeartbeat(CallerOfNow(), request);
      if (!reply.ok()) return reply.status();
      return reply->known();
    });
  }

  // ---- workers ----

  // Nobody else knows the incarnation of the honest worker.
  void RegisterWorker(std::string_view message) {
    v1::RegisterWorkerRequest request;
    if (!MayCall("RegisterWorker", {Role::kWorker}) || !Parse(message, request)) return;
    if (request.name() == kHonest) return;
    if (request.wire_version() == 0) request.set_wire_version(kWireVersion);
    const uint64_t before = crew_.machine.trainers_given();
    const auto reply = door_.RegisterWorker(CallerOfNow(), request);
    if (crew_.machine.trainers_given() != before) ++registrations_[host_];
    CAPSTAN_CHECK(registrations_[host_] <= kRegistrationsAtOnce + seconds_);
    if (!reply.ok() || reply->trainers().empty()) return;
    CAPSTAN_CHECK(open_);
    workers_.Register(request, *reply);
  }

  void WorkerHeartbeat(std::string_view message) {
    v1::WorkerHeartbeatRequest request;
    if (!MayCall("WorkerHeartbeat", {Role::kWorker}) || !Parse(message, request)) return;
    if (request.name() == kHonest) return;
    workers_.Complete(request);
    const auto reply = door_.WorkerHeartbeat(request);
    CheckOpen(reply.status());
    if (reply.ok()) workers_.Hear(request, *reply);
  }

  // ---- watchers ----

  std::unique_ptr<WatchCall> Watch(const ChiefCaller& caller, const v1::WatchViewRequest& request,
                                   bool as_shard) {
    return std::make_unique<WatchCall>(door_.WatchView(caller, request), as_shard,
                                       request.differences());
  }

  void WatchView(std::string_view message) {
    v1::WatchViewRequest request;
    if (!MayCall("WatchView", {Role::kPs, Role::kWorker, Role::kClient})) return;
    if (!Parse(message, request)) return;
    const bool as_shard = request.shard_incarnation() != 0 &&
                          MayAct(request.shard(), request.shard_incarnation(), request.secret());
    const auto of_host = static_cast<size_t>(
        std::count_if(watches_.begin(), watches_.end(),
                      [this](const Watching& watching) { return watching.host == host_; }));
    const bool room = of_host < kMostOfAHost && watches_.size() < kMostWatchers;
    std::unique_ptr<WatchCall> call = Watch(CallerOfNow(), request, as_shard);
    CAPSTAN_CHECK(call->over() == !room);
    if (room) watches_.push_back({host_, std::move(call)});
  }

  // No port is asked whether its process is still there: it is not.
  void TellOfEndedWatches() {
    for (const ViewFeed::ShardProcess& ended : feed_.TakeEnded()) {
      access_.Run([&ended](ChiefMachine& chief, absl::Time now) {
        chief.OnShardGone(ended.shard, ended.incarnation, now);
      });
    }
  }

  // As if nobody had ever watched from there.
  void CheckThatItMayWatch(const std::string& host) {
    std::vector<std::unique_ptr<WatchCall>> calls;
    for (size_t i = 0; i < kMostOfAHost; ++i) {
      calls.push_back(Watch({.host = host}, {}, /*as_shard=*/false));
      CAPSTAN_CHECK(!calls.back()->over());
    }
    CAPSTAN_CHECK(Watch({.host = host}, {}, /*as_shard=*/false)->over());
  }

  // ---- people ----

  void GetStatus() {
    if (!MayCall("GetStatus", {Role::kChief, Role::kAdmin, Role::kClient})) return;
    const absl::StatusOr<v1::GetStatusReply> status = door_.Status();
    CAPSTAN_CHECK(status.ok() || !open_);
    if (status.ok()) CheckReadable(*status);
  }

  void Order(Kind kind, std::string_view message) {
    v1::StopJobRequest stop;
    v1::RebalanceRequest rebalance;
    if (kind == kStopJob) {
      if (!MayCall("StopJob", {Role::kAdmin}) || !Parse(message, stop)) return;
      return CheckOpen(door_.StopJob(CallerOfNow(), stop));
    }
    if (kind == kRebalance) {
      if (!MayCall("Rebalance", {Role::kAdmin}) || !Parse(message, rebalance)) return;
      return CheckOpen(door_.Rebalance(CallerOfNow(), rebalance).status());
    }
    if (!MayCall("TakeCheckpoint", {Role::kAdmin})) return;
    ++askers_;
    door_.TakeCheckpoint(CallerOfNow(), [this](const absl::StatusOr<std::string>& uri) {
      ++answers_;
      CheckOpen(uri.status());
    });
    CAPSTAN_CHECK(answers_ <= askers_);
  }

  const CrewOptions options_;
  Crew crew_;
  FakeClock clock_;
  ViewFeed feed_{kMostWatchers, kMostOfAHost};
  ModelIntake models_{clock_};
  CrewAccess access_{crew_, feed_};
  ChiefDoor door_{{.views = feed_,
                   .models = models_,
                   .clock = clock_,
                   .job = Caller::kJob,
                   .registrations_at_once = kRegistrationsAtOnce}};
  bool open_ = false;
  Caller caller_;
  std::string host_ = HostOf(0);
  double seconds_ = 0;
  std::map<std::string, double> registrations_;  // By host.
  KnownWorkers workers_;
  std::set<uint32_t> numbered_;
  int askers_ = 0;
  int answers_ = 0;
  std::deque<Watching> watches_;  // Last: destroyed first, as they end in the feed.
};

}  // namespace
}  // namespace capstan::chief

void Fuzz(std::string_view input) {
  if (input.empty()) return;
  // The door logs each order, and whom it refuses.
  capstan::log::Init({.level = capstan::log::Level::kError});
  capstan::chief::Asked asked(static_cast<uint8_t>(input[0]));
  capstan::ForEachMessage(input.substr(1), [&asked](uint8_t kind, std::string_view message) {
    asked.Hear(kind, message);
  });
  asked.End();
}
