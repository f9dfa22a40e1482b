// What workers and shards tell the chief: whatever arrives, it goes on. A worker's words can
// neither fail the job, nor keep it from its end: a worker that is honest completes it afterwards.
//
// First byte: the job, and who speaks. The rest is a list of messages.
#include <cstdint>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "capstan/base/check.h"
#include "capstan/v1/chief.pb.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/messages.h"
#include "tests/unit/chief/crew.h"

namespace capstan::chief {
namespace {

constexpr char kHonest[] = "honest";
constexpr char kLiar[] = "liar";

CrewOptions JobOf(uint8_t choice) {
  CrewOptions options = {.tasks = 3, .eval_tasks = choice / 2 % 2u, .threads = 2};
  if (choice / 4 % 2 == 1) options.lanes = 2;
  if (choice / 8 % 2 == 1) options.max_bad_records = 5;
  if (choice / 16 % 2 == 1) options.evaluate_every = 20;
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

// The honest worker is heard of meanwhile, and takes no work yet.
void TimePasses(Crew& crew) {
  crew.Heartbeat(kHonest, {}, /*wants=*/false);
  crew.Advance(absl::Seconds(1));
}

void HearWorker(Crew& crew, Liar& liar, uint8_t kind, std::string_view message) {
  v1::WorkerHeartbeatRequest beat;
  v1::RegisterWorkerRequest registration;
  switch (kind % 4) {
    case 0:
    case 1:
      if (Parse(message, beat)) liar.Beat(beat, /*known=*/kind % 4 == 0);
      return;
    case 2:
      if (!Parse(message, registration)) return;
      (void)crew.machine.RegisterWorker(registration, crew.now, "ipv4:10.0.0.2");
      return crew.AnswerCalls();
    default:
      return TimePasses(crew);
  }
}

void HearShard(Crew& crew, uint8_t kind, std::string_view message) {
  v1::ShardHeartbeatRequest beat;
  v1::RegisterShardRequest registration;
  switch (kind % 4) {
    case 0:
      if (!Parse(message, beat)) return;
      beat.set_index(beat.index() % 2);
      beat.set_incarnation(crew.shards[beat.index()].incarnation);
      (void)crew.machine.ShardHeartbeat(beat, crew.now);
      return crew.AnswerCalls();
    case 1:
      if (!Parse(message, registration)) return;
      registration.set_wire_version(1);
      (void)crew.machine.RegisterShard(registration, crew.now);
      return crew.AnswerCalls();
    default:
      return TimePasses(crew);
  }
}

void Fuzz(uint8_t choice, std::string_view messages) {
  Crew crew(JobOf(choice));
  crew.RegisterShards();
  crew.RegisterWorker(kHonest, 0, {}, "ipv4:10.0.0.1");
  Liar liar(crew);
  const bool as_shard = choice % 2 == 1;
  ForEachMessage(messages, [&](uint8_t kind, std::string_view message) {
    as_shard ? HearShard(crew, kind, message) : HearWorker(crew, liar, kind, message);
  });
  CAPSTAN_CHECK(!crew.Status().SerializeAsString().empty());
  if (as_shard) return;
  CAPSTAN_CHECK(crew.machine.state() != v1::JOB_STATE_FAILED);
  crew.WorkToTheEnd({kHonest}, /*rounds=*/600);
  CAPSTAN_CHECK(crew.machine.state() == v1::JOB_STATE_COMPLETED);
}

}  // namespace
}  // namespace capstan::chief

void Fuzz(std::string_view input) {
  if (!input.empty()) capstan::chief::Fuzz(static_cast<uint8_t>(input[0]), input.substr(1));
}
