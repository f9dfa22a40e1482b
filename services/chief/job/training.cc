#include "chief/job/training.h"

#include <algorithm>
#include <utility>

namespace capstan::chief {
namespace {

// The loss is shown as a mean over about this many batches.
constexpr uint64_t kLossBatches = 50;
// A worker that has missed this many heartbeats may be gone.
constexpr int kBeatsMissed = 3;

MembershipOptions MembershipOf(const ChiefOptions& options, const v1::JobSpec& spec) {
  return {.term = options.term,
          .threads = spec.train().compute_threads(),
          .lease = absl::Seconds(spec.lease().worker_lease_seconds()),
          .presence = kBeatsMissed * absl::Seconds(spec.lease().heartbeat_seconds()),
          .data_stall = absl::Seconds(spec.lease().data_stall_seconds()),
          .max_workers = options.max_workers};
}

}  // namespace

Training::Training(const ChiefOptions& options, const JobPlan& plan, absl::Time now)
    : sealer(options.seal_key),
      workers(MembershipOf(options, plan.spec)),
      stragglers({.average = options.straggler_average, .probation = options.straggler_probation}),
      work(plan),
      evaluations(plan),
      early_stop(plan.spec.train().early_stop()),
      progress({.loss_window = kLossBatches * plan.spec.train().batch_size()}, now),
      closes(plan.spec) {}

// Lanes are kept until the barrier is reached: an open round needs them to close.
bool Training::LeasesTakenBack() const {
  if (!work.has_lanes()) return end.begun() || standstill.step != Standstill::Step::kNone;
  return end.begun() && (end.step != EndStep::kBarrier || barrier.reached());
}

bool Training::AtStandstill() const {
  return work.has_lanes() ? barrier.reached() : standstill.step == Standstill::Step::kReached;
}

bool Training::EvaluationDue() const {
  return !end.begun() && evaluations.Due(progress.examples(), work.totals().epochs_done);
}

v1::TaskProgress Training::ProgressOfNow() const {
  v1::TaskProgress now;
  work.Save(now);
  bad_records.Save(work.totals().epochs_done, now);
  now.set_examples(progress.examples());
  now.set_steps(progress.steps());
  if (!barrier.reached()) return now;
  // The cursors are those of the barrier's round, whatever workers have reported since.
  const v1::HoldRoundsReply& held = barrier.held();
  *now.mutable_last_closed() = held.last();
  for (int lane = 0; lane < std::min(now.lanes_size(), held.lanes_size()); ++lane) {
    now.mutable_lanes(lane)->set_cursor(held.lanes(lane).cursor());
    now.mutable_lanes(lane)->set_ended(held.lanes(lane).ended());
  }
  return now;
}

void Training::BeginEvaluation(bool at_barrier, bool final, absl::Time now) {
  v1::Evaluation about;
  about.set_examples(progress.examples());
  about.set_step(progress.steps());
  about.set_elapsed_seconds(progress.elapsed_seconds(now));
  about.set_at_round_boundary(at_barrier);
  about.set_final(final);
  about.set_train_loss(progress.loss().value_or(0));
  evaluations.Begin(std::move(about), work.totals().epochs_done);
}

void Training::RestoreEvaluations(std::vector<v1::Evaluation> history,
                                  std::optional<v1::Evaluation> given_up, uint64_t examples) {
  evaluations.Restore(std::move(history), examples, work.totals().epochs_done, std::move(given_up));
  early_stop.Reset();
  for (const v1::Evaluation& evaluation : evaluations.history()) {
    if (!evaluation.final() && evaluations.Compares(evaluation)) (void)early_stop.Add(evaluation);
  }
}

void Training::TakeLeasesBack() {
  for (const auto& [name, worker] : workers.live()) {
    for (const Trainer& trainer : worker.trainers) {
      if (work.Holds(trainer.id)) end.draining.insert(name);
    }
  }
  work.ReleaseAll();
}

}  // namespace capstan::chief
