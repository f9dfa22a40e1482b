#include "tests/simulation/chief_world_worker.h"

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "capstan/placement/view_epoch.h"

namespace capstan::simulation {
namespace {

constexpr absl::Duration kBetweenHeartbeats = absl::Seconds(1);  // As the job says.

}  // namespace

ChiefWorld::Worker::Worker(ChiefWorld& world, size_t index) : world_(world) {
  facts.name = absl::StrCat("worker-", index);
  facts.index = index;
}

ChiefWorld::Worker::Worker(ChiefWorld& world, const Worker& other)
    : facts(other.facts),
      world_(world),
      trainer_(other.trainer_),
      clock_(other.clock_),
      beat_time_(other.beat_time_) {
  if (!other.registered()) return;
  const size_t index = facts.index;
  leases_.emplace(*other.leases_, clock_, BeginWork(), [&](const worker::LeaseWork& work) {
    const size_t runner = dynamic_cast<const WorldLease&>(work).runner();
    return std::make_unique<WorldLease>(world, runner, index);
  });
  machine_.emplace(*other.machine_, *this);
  machine_->AddTrainer(trainer_, *this);
}

worker::HeldLeases::BeginWork ChiefWorld::Worker::BeginWork() {
  return [this](const v1::Lease& lease) { return world_.Begin(facts.index, lease); };
}

void ChiefWorld::Worker::Begin(const v1::RegisterWorkerReply& reply, uint64_t incarnation) {
  trainer_ = TrainerId{reply.trainers(0)};
  clock_ = worker::TrainerClock();
  leases_.emplace(trainer_, clock_, BeginWork());
  machine_.emplace(
      worker::WorkerMachineOptions{.name = facts.name, .incarnation = Incarnation{incarnation}},
      reply, *this);
  machine_->AddTrainer(trainer_, *this);
}

void ChiefWorld::Worker::End() {
  machine_.reset();
  leases_.reset();
  facts.alive = false;
  facts.due = false;
  facts.former = 0;
}

v1::WorkerHeartbeatRequest ChiefWorld::Worker::NextHeartbeat() {
  beat_time_ += kBetweenHeartbeats;
  machine_->Turn(beat_time_);
  return *std::exchange(heartbeat_, std::nullopt);
}

void ChiefWorld::Worker::OnHeartbeat(const absl::StatusOr<v1::WorkerHeartbeatReply>& reply) {
  machine_->OnHeartbeat(reply, beat_time_);
}

std::optional<v1::RegisterWorkerRequest> ChiefWorld::Worker::TakeRegistration() {
  return std::exchange(registration_, std::nullopt);
}

bool ChiefWorld::Worker::OnRegistered(const absl::StatusOr<v1::RegisterWorkerReply>& reply) {
  machine_->OnRegistered(reply);
  return machine_->Turn(beat_time_) != worker::WorkerEnd::kUnknown;
}

void ChiefWorld::Worker::AppendText(std::string& text) const {
  absl::StrAppend(&text, "\n", facts.name, " ", facts.life, facts.alive, facts.due,
                  facts.mute_seconds, " of ", facts.former);
  if (registered()) {
    absl::StrAppend(&text, " term ", EpochOf(machine_->view()).term, " ",
                    machine_->session().DebugString(), " ", leases_->DebugString());
  }
  if (facts.last) absl::StrAppend(&text, " last ", facts.last->ShortDebugString());
}

}  // namespace capstan::simulation
