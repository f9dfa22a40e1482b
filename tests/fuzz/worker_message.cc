// What the chief and the shards tell a worker: whatever arrives, the worker goes on, tells of each
// of its leases once, and can be asked to end. Its leases have the runners of a worker process;
// what they ask of the shards, the data and the computation is answered by the input.
//
// A list of messages.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "capstan/base/check.h"
#include "capstan/placement/view_reader.h"
#include "capstan/v1/chief.pb.h"
#include "capstan/v1/job.pb.h"
#include "capstan/v1/view.pb.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/fuzzed_shell.h"
#include "tests/fuzz/messages.h"
#include "worker/machines/lane_turns.h"
#include "worker/machines/trainer_clock.h"
#include "worker/machines/waiting_turns.h"
#include "worker/session/held_leases.h"
#include "worker/session/lease_runner.h"
#include "worker/session/worker_machine.h"

namespace capstan::worker {
namespace {

constexpr uint64_t kTrainer = 5;

// Dense parameters are synchronous, and rows go on under ssp: leases on lanes and on tasks do all
// that leases can.
v1::JobSpec Job() {
  v1::JobSpec job;
  job.mutable_dense_update()->set_kind(v1::POLICY_KIND_SYNC);
  job.mutable_dense_update()->set_lanes(2);
  job.add_tensors()->set_name("w");
  job.mutable_sparse_update()->set_kind(v1::POLICY_KIND_SSP);
  job.add_tables()->set_name("features");
  job.mutable_train()->set_prefetch_batches(1);
  job.mutable_train()->set_push_window(2);
  job.mutable_train()->set_max_steps(100);
  return job;
}

class FuzzedTrainer final : public TrainerWork {
 public:
  explicit FuzzedTrainer(Desk& desk) : desk_(desk) {}

  HeldLeases& leases() override { return leases_; }
  // The client of the shards takes no view that names an owner that it does not describe.
  void OnView(const v1::View& view, const std::vector<ShardIndex>& restarted) override {
    std::set<uint32_t> described;
    for (const v1::ShardInfo& shard : view.shards()) described.insert(shard.index());
    if (!std::all_of(view.owners().begin(), view.owners().end(),
                     [&described](uint32_t owner) { return described.contains(owner); })) {
      return;
    }
    desk_.view = view;
    leases_.OnView(view, restarted);
  }
  double StepSeconds() const override { return 0.25; }

  // The first lease that waits for such an answer gets it.
  void Hear(Answer kind, std::string_view message) {
    for (FuzzedShell* const shell : desk_.shells) {
      if (!shell->Hear(kind, message)) continue;
      desk_.shells.remove(shell);
      desk_.shells.push_back(shell);
      return;
    }
  }

 private:
  static constexpr uint64_t kTwoLanesAtATime = uint64_t{1} << 30;  // Bytes of dense parameters.

  Desk& desk_;
  const v1::JobSpec job_ = Job();
  TrainerClock clock_;
  LaneTurns turns_{kTwoLanesAtATime, LaneTurns::Order::kOfLanes};
  WaitingTurns waiting_opens_{1};
  ReadAhead read_ahead_{{.batches = 2, .bytes = 1 << 20}};
  const SharedByLeases shared_{
      .clock = clock_, .turns = turns_, .waiting_opens = waiting_opens_, .read_ahead = read_ahead_};
  HeldLeases leases_{TrainerId{kTrainer}, clock_, [this](const v1::Lease& lease) {
                       return std::make_unique<LeaseRunner>(job_, lease, shared_,
                                                            std::make_unique<FuzzedShell>(desk_));
                     }};
};

// The chief is told whenever a hundred examples have been trained.
ProgressGrain GrainOfAHundred() {
  v1::JobSpec job;
  job.mutable_train()->set_max_steps(6400);
  job.mutable_train()->set_batch_size(1);
  return ProgressGrain(job);
}

v1::RegisterWorkerReply Registration() {
  v1::RegisterWorkerReply reply;
  reply.add_trainers(kTrainer);
  reply.mutable_job()->mutable_lease()->set_heartbeat_seconds(1);
  return reply;
}

class FuzzedWorker final : public WorkerShell {
 public:
  FuzzedWorker() { machine_.AddTrainer(TrainerId{kTrainer}, trainer_); }

  void SendHeartbeat(const v1::WorkerHeartbeatRequest& request) override {
    waits_for_heartbeat_ = true;
    std::set<std::string> told;
    for (const v1::LeaseReport& report : request.leases()) {
      CAPSTAN_CHECK(told.insert(report.generation().SerializeAsString()).second);
    }
  }
  void SendRegistration(const v1::RegisterWorkerRequest&) override {
    waits_for_registration_ = true;
  }
  v1::WorkerReport MakeReport() override { return {}; }
  uint64_t trained() const override { return 7; }

  void Hear(uint8_t kind, std::string_view message) {
    v1::View view;
    v1::WorkerHeartbeatReply beat;
    v1::RegisterWorkerReply registration;
    const uint8_t of = KindOf(kind, kKinds, kAnswers);
    switch (of) {
      case 0:
        if (Parse(message, view)) Hear(std::move(view));
        break;
      case 1:
        if (waits_for_heartbeat_ && Parse(message, beat)) {
          waits_for_heartbeat_ = false;
          machine_.OnHeartbeat(beat, desk_.now);
        }
        break;
      case 2:
        if (waits_for_registration_ && Parse(message, registration)) {
          waits_for_registration_ = false;
          machine_.OnRegistered(registration);
        }
        break;
      case 3:
        desk_.now += absl::Seconds(2);
        break;
      default:
        trainer_.Hear(static_cast<Answer>(of - kKinds), message);
    }
    Turn();
  }

  // However it stands, it ends by the deadline.
  void End() {
    machine_.Drain(desk_.now + absl::Seconds(5));
    for (int second = 0; second < 10 && !end_; ++second) {
      desk_.now += absl::Seconds(1);
      if (std::exchange(waits_for_heartbeat_, false)) {
        machine_.OnHeartbeat(absl::UnavailableError("away"), desk_.now);
      }
      Turn();
    }
    CAPSTAN_CHECK(end_.has_value());
  }

 private:
  // As WatchView: a difference that cannot be read is the end of the stream.
  void Hear(v1::View message) {
    const bool whole = !message.has_difference();
    const absl::StatusOr<v1::View> view = views_.Read(std::move(message));
    if (!view.ok()) {
      views_ = ViewReader(kMostViewBytes);
      return;
    }
    CAPSTAN_CHECK(whole || view->ByteSizeLong() <= kMostViewBytes);
    machine_.OnView(*view);
  }

  void Turn() {
    if (const auto end = machine_.Turn(desk_.now); end && !end_) end_ = end;
  }

  static constexpr uint8_t kKinds = 4;  // Those of the first inputs; then come the answers.
  static constexpr size_t kMostViewBytes = 1 << 12;

  Desk desk_{.now = absl::UnixEpoch() + absl::Hours(2), .view = {}, .shells = {}};
  bool waits_for_heartbeat_ = false;
  bool waits_for_registration_ = false;
  std::optional<WorkerEnd> end_;
  ViewReader views_{kMostViewBytes};
  FuzzedTrainer trainer_{desk_};
  WorkerMachine machine_{
      {.name = "w-0", .incarnation = Incarnation{77}, .progress_grain = GrainOfAHundred()},
      Registration(),
      *this};
};

}  // namespace
}  // namespace capstan::worker

void Fuzz(std::string_view input) {
  capstan::worker::FuzzedWorker worker;
  capstan::ForEachMessage(
      input, [&worker](uint8_t kind, std::string_view message) { worker.Hear(kind, message); });
  worker.End();
}
