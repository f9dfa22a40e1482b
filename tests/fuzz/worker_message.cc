// What the chief tells a worker: whatever arrives, the worker goes on, tells of each of its leases
// once, and can be asked to end.
//
// A list of messages.
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "capstan/base/check.h"
#include "capstan/v1/chief.pb.h"
#include "capstan/v1/view.pb.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/messages.h"
#include "worker/machines/trainer_clock.h"
#include "worker/session/held_leases.h"
#include "worker/session/worker_machine.h"

namespace capstan::worker {
namespace {

constexpr uint64_t kTrainer = 5;

// Is at work until it is taken away or to be given back.
class Work final : public LeaseWork {
 public:
  explicit Work(v1::Lease lease) : lease_(std::move(lease)) {}

  void Deliver(Event event) override { over_ |= !std::holds_alternative<Tick>(event); }
  void Extend(const v1::Lease& lease) override { lease_ = lease; }
  void OnView(const std::vector<ShardIndex>&) override {}
  absl::Time NextWake() const override { return absl::InfiniteFuture(); }
  bool over() const override { return over_; }
  bool HasNews() const override { return false; }
  v1::LeaseReport Report() override {
    v1::LeaseReport report;
    *report.mutable_generation() = lease_.generation();
    report.set_kind(lease_.kind());
    report.set_returned(over_);
    return report;
  }

 private:
  v1::Lease lease_;
  bool over_ = false;
};

class FuzzedTrainer final : public TrainerWork {
 public:
  HeldLeases& leases() override { return leases_; }
  void OnView(const v1::View& view, const std::vector<ShardIndex>& restarted) override {
    leases_.OnView(view, restarted);
  }
  double StepSeconds() const override { return 0.25; }

 private:
  TrainerClock clock_;
  HeldLeases leases_{TrainerId{kTrainer}, clock_,
                     [](const v1::Lease& lease) { return std::make_unique<Work>(lease); }};
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
    switch (kind % 4) {
      case 0:
        if (Parse(message, view)) machine_.OnView(view);
        break;
      case 1:
        if (waits_for_heartbeat_ && Parse(message, beat)) {
          waits_for_heartbeat_ = false;
          machine_.OnHeartbeat(beat, now_);
        }
        break;
      case 2:
        if (waits_for_registration_ && Parse(message, registration)) {
          waits_for_registration_ = false;
          machine_.OnRegistered(registration);
        }
        break;
      default:
        now_ += absl::Seconds(2);
    }
    Turn();
  }

  // However it stands, it ends by the deadline.
  void End() {
    machine_.Drain(now_ + absl::Seconds(5));
    for (int second = 0; second < 10 && !end_; ++second) {
      now_ += absl::Seconds(1);
      if (std::exchange(waits_for_heartbeat_, false)) {
        machine_.OnHeartbeat(absl::UnavailableError("away"), now_);
      }
      Turn();
    }
    CAPSTAN_CHECK(end_.has_value());
  }

 private:
  void Turn() {
    if (const auto end = machine_.Turn(now_); end && !end_) end_ = end;
  }

  absl::Time now_ = absl::UnixEpoch() + absl::Hours(2);
  bool waits_for_heartbeat_ = false;
  bool waits_for_registration_ = false;
  std::optional<WorkerEnd> end_;
  FuzzedTrainer trainer_;
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
