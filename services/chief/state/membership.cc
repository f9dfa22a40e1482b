#include "chief/state/membership.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "capstan/base/bounded_seconds.h"
#include "capstan/base/quote.h"
#include "capstan/base/status.h"
#include "chief/state/term.h"

namespace capstan::chief {
namespace {

constexpr size_t kLostShown = 16;
constexpr size_t kVoidWorkersKept = 8192;
constexpr size_t kMaxNameBytes = 253;  // A DNS name.
constexpr size_t kMaxTextBytes = 4096;
constexpr absl::Duration kLongestStall = absl::Hours(24 * 365);
constexpr uint64_t kMostSteps = uint64_t{1} << 48;  // Higher reported clocks are limited to this.

std::vector<TrainerId> TrainersNamed(const v1::WorkerHeartbeatRequest& request) {
  std::vector<TrainerId> ids;
  for (const v1::TrainerReport& report : request.trainers()) {
    ids.push_back(TrainerId{report.trainer()});
  }
  return ids;
}

// Reduces a worker's report to what is kept and shown. Returns a fresh copy, so that the memory of
// what was removed is freed.
v1::WorkerReport Kept(v1::WorkerReport told) {
  if (told.stalled_on().size() > kMaxTextBytes) {
    told.set_stalled_on(FirstBytes(told.stalled_on(), kMaxTextBytes));
  }
  told.set_stalled_seconds(absl::ToDoubleSeconds(
      BoundedSeconds(told.stalled_seconds(), absl::ZeroDuration(), kLongestStall)));
  told.DiscardUnknownFields();
  v1::WorkerReport kept = told;
  return kept;
}

void HearTrainer(const v1::TrainerReport& report, absl::Time now, Trainer& trainer) {
  trainer.wants_lease = report.wants_lease();
  if (report.step_seconds() > 0 && std::isfinite(report.step_seconds())) {
    trainer.step_seconds = report.step_seconds();
  }
  const bool first = !std::exchange(trainer.clock_heard, true);
  // A trainer that joins is told to begin at start_clock: it has not made the steps before that.
  const uint64_t before = std::max(trainer.clock, trainer.start_clock);
  const uint64_t clock = std::min(report.clock(), kMostSteps);
  if (clock <= trainer.clock) return;
  const double seconds = absl::ToDoubleSeconds(now - trainer.clock_at);
  if (!first && clock > before && seconds > 0) {
    trainer.clock_rate = static_cast<double>(clock - before) / seconds;
  }
  trainer.clock = clock;
  trainer.clock_at = now;
}

}  // namespace

std::vector<TrainerId> Worker::trainer_ids() const {
  std::vector<TrainerId> ids;
  for (const Trainer& trainer : trainers) ids.push_back(trainer.id);
  return ids;
}

double Worker::step_seconds() const {
  double slowest = 0;
  for (const Trainer& trainer : trainers) slowest = std::max(slowest, trainer.step_seconds);
  return slowest;
}

absl::StatusOr<Membership::Registration> Membership::Register(
    const v1::RegisterWorkerRequest& request, const std::string& peer, absl::Time now) {
  const Incarnation incarnation{request.incarnation()};
  if (request.name().empty() || request.name().size() > kMaxNameBytes) {
    return absl::InvalidArgumentError(absl::StrCat("a worker's name has 1 to ", kMaxNameBytes,
                                                   " bytes, this one has ", request.name().size()));
  }
  if (Raw(incarnation) == 0) return absl::InvalidArgumentError("incarnation is 0");
  if (std::find(void_.begin(), void_.end(), incarnation) != void_.end()) {
    return absl::FailedPreconditionError(absl::StrCat(
        "worker ", request.name(), ": this incarnation has been replaced or given up"));
  }
  CAPSTAN_RETURN_IF_ERROR(CheckFree(request, now));
  Registration registration;
  const auto present = live_.find(request.name());
  if (present != live_.end()) {
    registration.worker = &present->second;
    if (present->second.incarnation == incarnation) return registration;
    registration.replaced = present->second.trainer_ids();
    Forget(present->second);
    live_.erase(present);
  }
  if (live_.size() >= options_.max_workers) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the job has ", live_.size(), " workers, which is the limit"));
  }
  if (trainers_given_ + threads() > kMostNumbers) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "this chief has given a number to ", trainers_given_, " trainers, which is the limit"));
  }
  Worker& worker = live_[request.name()];
  worker.name = request.name();
  worker.incarnation = incarnation;
  worker.heard = now;
  worker.peer = peer;
  const bool keeps = KeepsTrainers(request);
  for (uint32_t i = 0; i < threads(); ++i) {
    Trainer& trainer = worker.trainers.emplace_back();
    trainer.id = keeps ? TrainerId{request.trainers(static_cast<int>(i))}
                       : TrainerId{NumberInTerm(options_.term, ++trainers_given_)};
    trainer.clock_at = now;
    names_[trainer.id] = worker.name;
  }
  ++registered_;
  ++eligible_changes_;
  registration.worker = &worker;
  registration.is_new = true;
  return registration;
}

absl::Status Membership::CheckFree(const v1::RegisterWorkerRequest& request, absl::Time now) const {
  const auto present = live_.find(request.name());
  if (present == live_.end()) return absl::OkStatus();
  const Worker& worker = present->second;
  const bool same = worker.incarnation == Incarnation{request.incarnation()};
  // `former` proves that the request comes from the worker itself after a restart: nobody else
  // knows its incarnation.
  const bool own = worker.incarnation == Incarnation{request.former()};
  if (same || own || worker.draining) return absl::OkStatus();
  const absl::Duration silent = now - worker.heard;
  if (silent > options_.presence) return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat(
      "there is a worker ", request.name(), ", heard of ", absl::FormatDuration(silent),
      " ago; another process may take its place once it has been silent for ",
      absl::FormatDuration(options_.presence)));
}

bool Membership::KeepsTrainers(const v1::RegisterWorkerRequest& request) {
  if (static_cast<uint32_t>(request.trainers_size()) != threads()) return false;
  std::set<uint64_t> ids(request.trainers().begin(), request.trainers().end());
  if (ids.size() != threads()) return false;
  return std::all_of(ids.begin(), ids.end(), [this](uint64_t id) {
    const uint64_t term = TermOfNumber(id);
    return term != 0 && term < options_.term && Find(TrainerId{id}) == nullptr;
  });
}

Worker* Membership::Find(const v1::WorkerHeartbeatRequest& request) {
  const auto found = live_.find(request.name());
  if (found == live_.end()) return nullptr;
  Worker& worker = found->second;
  if (worker.incarnation != Incarnation{request.incarnation()}) return nullptr;
  const std::vector<TrainerId> given = worker.trainer_ids();
  const std::vector<TrainerId> named = TrainersNamed(request);
  const bool agree = std::is_permutation(given.begin(), given.end(), named.begin(), named.end());
  return agree ? &worker : nullptr;
}

Trainer* Membership::Find(TrainerId id) {
  const auto name = names_.find(id);
  if (name == names_.end()) return nullptr;
  std::vector<Trainer>& trainers = live_.at(name->second).trainers;
  const auto found = std::find_if(trainers.begin(), trainers.end(),
                                  [id](const Trainer& trainer) { return trainer.id == id; });
  return found == trainers.end() ? nullptr : &*found;
}

void Membership::SetTraining(Trainer& trainer, bool training, uint64_t start_clock) {
  trainer.training = training;
  trainer.start_clock = start_clock;
  ++quorum_changes_;
}

void Membership::SeeRest(const Worker& worker) {
  const bool rests = worker.draining || worker.stuck;
  if (rests == resting_.contains(worker.name)) return;
  ++eligible_changes_;
  if (rests) {
    resting_.insert(worker.name);
  } else {
    resting_.erase(worker.name);
  }
}

void Membership::Hear(Worker& worker, const v1::WorkerHeartbeatRequest& request, absl::Time now) {
  worker.heard = now;
  worker.draining = worker.draining || request.draining();
  worker.report = Kept(request.report());
  worker.stuck = options_.data_stall > absl::ZeroDuration() &&
                 worker.report.stalled_seconds() >= absl::ToDoubleSeconds(options_.data_stall);
  SeeRest(worker);
  for (const v1::TrainerReport& report : request.trainers()) {
    for (Trainer& trainer : worker.trainers) {
      if (Raw(trainer.id) == report.trainer()) HearTrainer(report, now, trainer);
    }
  }
}

std::vector<Worker> Membership::TakeSilent(absl::Time now) {
  std::vector<Worker> silent;
  for (auto worker = live_.begin(); worker != live_.end();) {
    if (now - worker->second.heard <= options_.lease) {
      ++worker;
      continue;
    }
    Forget(worker->second);
    if (!worker->second.draining) {
      std::erase_if(lost_, [&](const Worker& before) { return before.name == worker->first; });
      lost_.push_back(worker->second);
    }
    if (lost_.size() > kLostShown) lost_.pop_front();
    silent.push_back(std::move(worker->second));
    worker = live_.erase(worker);
  }
  return silent;
}

void Membership::Forget(const Worker& worker) {
  void_.push_back(worker.incarnation);
  if (void_.size() > kVoidWorkersKept) void_.pop_front();
  for (const Trainer& trainer : worker.trainers) names_.erase(trainer.id);
  resting_.erase(worker.name);
  ++eligible_changes_;
  ++quorum_changes_;
}

std::vector<Membership::Candidate> Membership::Eligible() const {
  std::vector<Candidate> trainers;
  for (uint32_t thread = 0; thread < threads(); ++thread) {
    for (const auto& [name, worker] : live_) {
      if (worker.draining || worker.stuck) continue;
      trainers.push_back({worker.trainers[thread].id, &worker});
    }
  }
  return trainers;
}

bool Membership::AnyEligible() const {
  return std::any_of(live_.begin(), live_.end(), [](const auto& worker) {
    return !worker.second.draining && !worker.second.stuck;
  });
}

std::string Membership::VoiceOf(const Worker& worker) const {
  const bool one_address = std::all_of(live_.begin(), live_.end(), [&worker](const auto& other) {
    return other.second.peer == worker.peer;
  });
  return one_address ? worker.name : worker.peer;
}

bool Membership::AllStuck() const {
  size_t stuck = 0;
  for (const auto& [name, worker] : live_) {
    if (worker.draining) continue;
    if (!worker.stuck) return false;
    ++stuck;
  }
  return stuck > 0;
}

uint64_t Membership::SlowestClock(absl::Time now) const {
  bool any = false;
  uint64_t slowest = 0;
  for (const auto& [name, worker] : live_) {
    for (const Trainer& trainer : worker.trainers) {
      if (!trainer.training) continue;
      const absl::Duration age = std::min(now - trainer.clock_at, options_.lease);
      const double since = std::min(trainer.clock_rate * std::max(0.0, absl::ToDoubleSeconds(age)),
                                    static_cast<double>(kMostSteps));
      const uint64_t clock =
          std::max(trainer.start_clock, trainer.clock + static_cast<uint64_t>(since));
      slowest = any ? std::min(slowest, clock) : clock;
      any = true;
    }
  }
  return slowest;
}

uint64_t Membership::FastestClock() const {
  uint64_t fastest = 0;
  for (const auto& [name, worker] : live_) {
    for (const Trainer& trainer : worker.trainers) fastest = std::max(fastest, trainer.clock);
  }
  return fastest;
}

}  // namespace capstan::chief
