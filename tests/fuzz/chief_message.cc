// What workers, shards, people and programs tell the chief: whatever arrives, it goes on. A
// worker's words can neither fail the job, nor keep it from its end: a worker that is honest
// completes it afterwards. Only an admin stops the job. Only the process of a shard is taken for
// the shard, and only with the secret that it has shown, where it has; of others the chief takes
// nothing in.
//
// First byte: the job, and whether workers or shards speak. The rest is a list of messages, of
// shards' replies to the chief's orders, and of certificates of those who speak from then on.
#include <cstdint>
#include <deque>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "capstan/base/absl_view.h"
#include "capstan/base/check.h"
#include "capstan/message/rpc_method.h"
#include "capstan/security/role.h"
#include "capstan/security/shard_secret.h"
#include "capstan/v1/chief.pb.h"
#include "capstan/v1/job_reader.pb.h"
#include "capstan/v1/ps.pb.h"
#include "capstan/v1/view.pb.h"
#include "chief/shell/view_feed.h"
#include "chief/state/chief_actions.h"
#include "tests/fuzz/caller.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/messages.h"
#include "tests/unit/chief/crew.h"
#include "tests/unit/chief/watch_call.h"

namespace capstan::chief {
namespace {

constexpr char kHonest[] = "honest";
constexpr char kLiar[] = "liar";

// What stands in a message for the secret of the process in whose name it is.
constexpr char kOwn[] = "own";

CrewOptions JobOf(uint8_t choice) {
  CrewOptions options = {.tasks = 3, .eval_tasks = choice / 2 % 2u, .threads = 2};
  if (choice / 4 % 2 == 1) options.lanes = 2;
  if (choice / 8 % 2 == 1) options.max_bad_records = 5;
  if (choice / 16 % 2 == 1) options.evaluate_every = 20;
  if (choice / 32 % 2 == 1) options.uri = "/models";
  return options;
}

// The liar, as it stands with the chief.
class Liar {
 public:
  explicit Liar(Crew& crew) : crew_(crew) {
    incarnation_ = crew.RegisterWorker(kLiar, 0, {}, "ipv4:10.0.0.2");
  }

  // `known`: it says who it is, and speaks of its own trainers and of leases that it has been
  // given.
  void Beat(v1::WorkerHeartbeatRequest request, bool known) {
    if (known) {
      request.set_name(kLiar);
      request.set_incarnation(incarnation_);
      const v1::WorkerHeartbeatRequest own = crew_.HeartbeatOf(kLiar);
      for (int i = 0; i < request.trainers_size(); ++i) {
        request.mutable_trainers(i)->set_trainer(own.trainers(i % own.trainers_size()).trainer());
      }
      for (int i = 0; i < request.leases_size() && !leases_.empty(); ++i) {
        Name(leases_[static_cast<size_t>(i) % leases_.size()], *request.mutable_leases(i));
      }
    }
    const v1::WorkerHeartbeatReply reply = crew_.machine.WorkerHeartbeat(request, crew_.now);
    leases_.insert(leases_.end(), reply.leases().begin(), reply.leases().end());
    crew_.AnswerCalls();
  }

 private:
  static void Name(const v1::Lease& lease, v1::LeaseReport& report) {
    *report.mutable_generation() = lease.generation();
    report.set_kind(lease.kind());
    report.set_timeline(lease.timeline());
    report.set_trainer(lease.trainer());
    report.set_lane(lease.lane());
    if (lease.kind() == v1::LEASE_KIND_TASK) {
      report.set_stream(Crew::Partly(lease, 0).stream());
    }
  }

  Crew& crew_;
  uint64_t incarnation_;
  std::vector<v1::Lease> leases_;
};

// What is told the chief, by its kind. In inputs that workers speak in, the kinds of shards mean
// other things than in those that shards speak in, as they did in the first inputs.
enum Kind : uint8_t {
  kFirst,
  kSecond,
  kThird,
  kTimePasses,
  kKinds,
  kCaller = kKinds,
  kStopJob,
  kTakeCheckpoint,
  kRebalance,
  kGetStatus,
  kDescribeJob,
  kWatchView,
  kEndWatch,
  kHoldAnswers,
  kAnswer,
  kShowSecret,
};
constexpr uint8_t kFurther = 11;

// Reads a reply to an order of the chief.
absl::StatusOr<ShardReply> ReadReply(const ShardRequest& order, std::string_view message) {
  std::unique_ptr<google::protobuf::Message> reply =
      NewMessage(*MethodOf(*order->GetDescriptor()).output_type());
  if (!Parse(message, *reply)) return absl::InternalError("it cannot be parsed");
  return ShardReply(std::move(reply));
}

class Told {
 public:
  explicit Told(uint8_t choice) : as_shard_(choice % 2 == 1), crew_(JobOf(choice)) {
    crew_.RegisterShards();
    crew_.RegisterWorker(kHonest, 0, {}, "ipv4:10.0.0.1");
    liar_.emplace(crew_);
  }

  void Hear(uint8_t kind, std::string_view message) {
    const uint8_t of = KindOf(kind, kKinds, kFurther);
    if (of == kTimePasses) {
      TimePasses();
    } else if (of < kKinds) {
      as_shard_ ? HearShard(of, message) : HearWorker(of, message);
    } else {
      HearOthers(of, message);
    }
    if (!crew_.views.empty()) feed_.Publish(crew_.views.back());
    for (const auto& watch : watches_) {
      watch->TakeWrites();
      if (!crew_.views.empty()) watch->CheckHas(crew_.views.back());
    }
  }

  void End() {
    watches_.clear();
    for (const ViewFeed::ShardProcess& ended : feed_.TakeEnded()) {
      crew_.machine.OnShardGone(ended.shard, ended.incarnation, crew_.now);
      crew_.AnswerCalls();
    }
    CAPSTAN_CHECK(!crew_.Status().SerializeAsString().empty());
    if (as_shard_) return;
    CAPSTAN_CHECK(crew_.machine.state() != v1::JOB_STATE_FAILED);
    crew_.WorkToTheEnd({kHonest}, /*rounds=*/600);
    CAPSTAN_CHECK(crew_.machine.state() == v1::JOB_STATE_COMPLETED);
    CAPSTAN_CHECK(stopped_ || crew_.machine.reason().empty());
    CAPSTAN_CHECK(crew_.checkpoint_answers.size() == askers_);
  }

 private:
  bool MayCall(std::string_view method, std::initializer_list<Role> roles) const {
    return caller_.MayCall(absl::StrCat("/capstan.v1.Chief/", AbslView(method)), roles);
  }

  // The honest worker is heard of meanwhile, and takes no work yet.
  void TimePasses() {
    crew_.Heartbeat(kHonest, {}, /*wants=*/false);
    crew_.Advance(absl::Seconds(1));
  }

  void HearWorker(uint8_t kind, std::string_view message) {
    v1::WorkerHeartbeatRequest beat;
    v1::RegisterWorkerRequest registration;
    if (kind == kThird) {
      if (!MayCall("RegisterWorker", {Role::kWorker}) || !Parse(message, registration)) return;
      (void)crew_.machine.RegisterWorker(registration, crew_.now, "ipv4:10.0.0.2");
      return crew_.AnswerCalls();
    }
    if (!MayCall("WorkerHeartbeat", {Role::kWorker}) || !Parse(message, beat)) return;
    liar_->Beat(beat, /*known=*/kind == kFirst);
  }

  void HearShard(uint8_t kind, std::string_view message) {
    v1::ShardHeartbeatRequest beat;
    v1::RegisterShardRequest registration;
    switch (kind) {
      case kFirst:
        if (!MayCall("ShardHeartbeat", {Role::kPs}) || !Parse(message, beat)) return;
        beat.set_index(beat.index() % 2);
        if (!caller_.MayActForShard(beat.index())) return;
        beat.set_incarnation(crew_.shards[beat.index()].incarnation);
        if (beat.secret() == kOwn) beat.set_secret(crew_.shards[beat.index()].secret);
        return TakeIn(beat, [&] { return crew_.machine.ShardHeartbeat(beat, crew_.now).known(); });
      case kSecond:
        if (!MayCall("RegisterShard", {Role::kPs}) || !Parse(message, registration)) return;
        if (!caller_.MayActForShard(registration.index())) return;
        registration.set_wire_version(1);
        return TakeIn(registration, [&] {
          const uint64_t present = crew_.machine.ShardIncarnation(registration.index());
          return crew_.machine.RegisterShard(registration, crew_.now, feed_.IsWatching(present))
              .ok();
        });
      default:
        return TimePasses();
    }
  }

  // Has the chief take in what is told in the name of a shard; `tell` returns whether it did. What
  // it takes for the word of another process changes nothing.
  template <typename Request, typename Tell>
  void TakeIn(const Request& request, Tell tell) {
    const bool may =
        crew_.machine.MaySpeak(request.index(), request.incarnation(), request.secret());
    const std::string before = may ? "" : crew_.Status().DebugString();
    const bool taken = tell();
    CAPSTAN_CHECK(may || (!taken && crew_.Status().DebugString() == before));
    crew_.AnswerCalls();
  }

  // A process that has a secret comes in the place of the shard, or registers again.
  void ShowSecret(uint32_t index) {
    const std::string secret = absl::StrCat("secret of shard ", index);
    const uint64_t incarnation = Raw(IncarnationOfSecret(secret));
    if (crew_.shards[index].incarnation != incarnation) {
      crew_.shards[index] = {.incarnation = incarnation, .secret = secret};
    }
    (void)crew_.RegisterShard(index, incarnation);
  }

  // People, and programs that are no part of the job.
  void HearOthers(uint8_t kind, std::string_view message) {
    v1::StopJobRequest stop;
    v1::TakeCheckpointRequest checkpoint;
    v1::RebalanceRequest rebalance;
    v1::GetStatusRequest status;
    v1::DescribeJobRequest description;
    v1::WatchViewRequest watch;
    switch (kind) {
      case kCaller:
        return caller_.Become(message);
      case kStopJob:
        if (!MayCall("StopJob", {Role::kAdmin}) || !Parse(message, stop)) return;
        stopped_ = true;
        crew_.machine.StopJob(stop.reason(), crew_.now);
        return crew_.AnswerCalls();
      case kTakeCheckpoint:
        if (!MayCall("TakeCheckpoint", {Role::kAdmin}) || !Parse(message, checkpoint)) return;
        crew_.machine.TakeCheckpoint(++askers_, crew_.now);
        return crew_.AnswerCalls();
      case kRebalance:
        if (!MayCall("Rebalance", {Role::kAdmin}) || !Parse(message, rebalance)) return;
        (void)crew_.machine.Rebalance(rebalance, crew_.now);
        return crew_.AnswerCalls();
      case kGetStatus:
        if (!MayCall("GetStatus", {Role::kChief, Role::kAdmin, Role::kClient})) return;
        if (Parse(message, status)) CAPSTAN_CHECK(!crew_.Status().job().empty());
        return;
      case kDescribeJob:
        if (!caller_.MayCall("/capstan.v1.JobReader/DescribeJob", {Role::kClient})) return;
        if (Parse(message, description)) CAPSTAN_CHECK(!crew_.machine.plan().spec.job().empty());
        return;
      case kWatchView:
        if (!MayCall("WatchView", {Role::kPs, Role::kWorker, Role::kClient})) return;
        if (Parse(message, watch)) Watch(watch);
        return;
      case kEndWatch:
        if (!watches_.empty()) watches_.pop_front();
        return;
      case kHoldAnswers:
        crew_.hold_calls = as_shard_;
        return;
      case kShowSecret:
        if (as_shard_ && !message.empty()) ShowSecret(static_cast<uint8_t>(message[0]) % 2);
        return;
      default:
        return HearAnswer(message);
    }
  }

  // Answers the oldest order that a shard has not answered: the first byte is the code of the
  // reply's status, and the rest is the reply.
  void HearAnswer(std::string_view message) {
    if (crew_.held.empty() || message.empty()) return;
    const CallShard call = crew_.held.front();
    crew_.held.erase(crew_.held.begin());
    const auto code = static_cast<absl::StatusCode>(static_cast<uint8_t>(message[0]) % 17);
    crew_.machine.OnShardReply(call.call,
                               code == absl::StatusCode::kOk
                                   ? ReadReply(call.request, message.substr(1))
                                   : absl::Status(code, "the shard says no"),
                               crew_.now);
    crew_.AnswerCalls();
  }

  // As ChiefService: anybody may watch, but only a shard itself may say that it is the shard.
  void Watch(const v1::WatchViewRequest& request) {
    ViewFeed::ShardProcess process{request.shard(), request.shard_incarnation()};
    const bool may = caller_.MayActForShard(process.shard) &&
                     crew_.machine.MaySpeak(process.shard, process.incarnation, request.secret());
    if (process.incarnation != 0 && !may) process = {};
    watches_.push_back(std::make_unique<WatchCall>(
        feed_, ViewFeed::Caller{"ipv4:10.0.0.3", process, request.differences()}));
  }

  const bool as_shard_;
  Crew crew_;
  Caller caller_;
  std::optional<Liar> liar_;
  bool stopped_ = false;
  uint64_t askers_ = 0;
  ViewFeed feed_{/*max_watchers=*/6, /*max_of_a_peer=*/5};
  std::deque<std::unique_ptr<WatchCall>> watches_;
};

}  // namespace
}  // namespace capstan::chief

void Fuzz(std::string_view input) {
  if (input.empty()) return;
  capstan::chief::Told told(static_cast<uint8_t>(input[0]));
  capstan::ForEachMessage(input.substr(1), [&told](uint8_t kind, std::string_view message) {
    told.Hear(kind, message);
  });
  told.End();
}
