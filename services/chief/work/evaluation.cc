#include "chief/work/evaluation.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/status/status.h"
#include "capstan/base/metric_name.h"
#include "capstan/consistency/generation.h"
#include "capstan/model/metrics.h"
#include "chief/work/held_out.h"

namespace capstan::chief {
namespace {

constexpr size_t kHistory = 1000;

// Returns the first multiple of `every` above `examples`, or the largest number if there is none; 0
// if `every` is 0. Takes constant time, as `examples` may be any number that a peer reports.
uint64_t NextDue(uint64_t examples, uint64_t every) {
  if (every == 0) return 0;
  const uint64_t past = examples - examples % every;
  const uint64_t never = std::numeric_limits<uint64_t>::max();
  return past > never - every ? never : past + every;
}

}  // namespace

Evaluations::Evaluations(const JobPlan& plan)
    : job_(plan.spec),
      every_examples_(plan.spec.train().evaluate_every_examples()),
      tasks_(plan.eval),
      held_out_(HeldOutFingerprint(plan)),
      sets_{""},
      ends_(plan.eval_ends),
      next_examples_(every_examples_) {
  if (ends_.empty()) ends_.push_back(tasks_.size());
  for (size_t i = 1; i < ends_.size(); ++i) {
    sets_.push_back(plan.spec.data().eval_sets(static_cast<int>(i)).name());
  }
}

size_t Evaluations::SetOf(uint32_t task) const {
  return static_cast<size_t>(std::upper_bound(ends_.begin(), ends_.end(), task) - ends_.begin());
}

bool Evaluations::Due(uint64_t examples, uint32_t epochs_done) const {
  if (!enabled() || running()) return false;
  if (every_examples_ > 0) return examples >= next_examples_;
  return epochs_done > epochs_evaluated_;
}

void Evaluations::Begin(v1::Evaluation about, uint32_t epochs_done) {
  about.set_number(++begun_);
  about.set_held_out(held_out_);
  about.set_epochs_done(epochs_done);
  epochs_evaluated_ = epochs_done;
  next_examples_ = NextDue(about.examples(), every_examples_);
  sums_.assign(sets_.size(), NoEvaluation(job_.data()));
  failures_.clear();
  for (uint32_t i = 0; i < tasks_.size(); ++i) todo_.insert(i);
  running_ = std::move(about);
}

std::optional<v1::Lease> Evaluations::Grant(TrainerId trainer, Generations& generations,
                                            const Avoid& avoid) {
  if (!running()) return std::nullopt;
  const auto next = std::find_if(todo_.begin(), todo_.end(), [&](uint32_t task) {
    return avoid == nullptr || !avoid(NameOf(task));
  });
  if (next == todo_.end()) return std::nullopt;
  const uint32_t index = *next;
  todo_.erase(next);
  v1::Lease lease;
  lease.set_kind(v1::LEASE_KIND_EVALUATION);
  ToProto(generations.Next(), *lease.mutable_generation());
  lease.set_trainer(Raw(trainer));
  *lease.mutable_task() = tasks_.TaskAt(index);
  lease.set_evaluation(running_->number());
  leases_.Add(lease);
  return lease;
}

ReportResult Evaluations::Report(std::span<const TrainerId> trainers,
                                 const v1::LeaseReport& report) {
  ReportResult result;
  const HeldLease* held = leases_.Find(trainers, GenerationFromProto(report.generation()));
  if (held == nullptr) return result;
  result.known = true;
  result.work = NameOf(held->lease.task().index());
  const bool failed = !report.error().empty();
  result.held = !failed && !report.finished() && !report.returned();
  if (result.held) return result;
  const uint32_t index = held->lease.task().index();
  leases_.Remove(TrainerId{held->lease.trainer()}, GenerationFromProto(report.generation()));
  absl::Status merged = absl::UnavailableError("returned");
  if (!failed && report.finished()) {
    merged = MergeEvaluation(report.evaluation(), sums_[SetOf(index)]);
  }
  if (merged.ok()) return result;
  todo_.insert(index);
  if (failed || report.finished()) {
    const std::string error = failed ? report.error() : std::string(merged.message());
    result.failure = TaskFailure{error, report.bad_data(), ++failures_[index]};
  }
  return result;
}

void Evaluations::Release(TrainerId trainer) {
  for (const HeldLease& held : leases_.RemoveAll(trainer)) todo_.insert(held.lease.task().index());
}

void Evaluations::GiveUp(std::string why) {
  final_given_up_ = running_->final();
  failure_ = std::move(why);
  given_up_ = std::move(running_);
  running_.reset();
  todo_.clear();
  leases_.Clear();
}

void Evaluations::Restore(std::vector<v1::Evaluation> history, uint64_t examples,
                          uint32_t epochs_done, std::optional<v1::Evaluation> given_up) {
  running_.reset();
  todo_.clear();
  leases_.Clear();
  final_given_up_ = false;
  failure_.clear();
  for (const v1::Evaluation& evaluation : history) begun_ = std::max(begun_, evaluation.number());
  if (given_up) begun_ = std::max(begun_, given_up->number());
  std::erase_if(history, [examples](const v1::Evaluation& evaluation) {
    return evaluation.examples() > examples;
  });
  if (given_up && given_up->examples() > examples) given_up.reset();
  history_ = std::move(history);
  given_up_ = std::move(given_up);
  epochs_evaluated_ = EpochsEvaluated(epochs_done);
  const uint64_t last = std::max(history_.empty() ? 0 : history_.back().examples(),
                                 given_up_ ? given_up_->examples() : 0);
  next_examples_ = NextDue(last, every_examples_);
}

// Returns how many epochs were complete when the last known evaluation began. If no entry in the
// history has that number, an earlier version made them all: then each counts for one epoch.
uint32_t Evaluations::EpochsEvaluated(uint32_t epochs_done) const {
  const uint32_t given_up = given_up_ ? given_up_->epochs_done() : 0;
  std::optional<uint32_t> evaluated;
  for (const v1::Evaluation& evaluation : history_) {
    if (!evaluation.has_epochs_done()) continue;
    evaluated = std::max(evaluated.value_or(0), evaluation.epochs_done());
  }
  const uint32_t one_each = std::min(static_cast<uint32_t>(history_.size()), epochs_done);
  return std::max(given_up, evaluated.value_or(one_each));
}

void Evaluations::AddFinal(const std::map<std::string, double>& metrics, uint64_t examples,
                           uint64_t step) {
  v1::Evaluation evaluation = history_.empty() ? v1::Evaluation() : history_.back();
  evaluation.set_number(++begun_);
  evaluation.set_examples(examples);
  evaluation.set_step(step);
  evaluation.set_at_round_boundary(true);
  evaluation.set_final(true);
  evaluation.set_held_out(held_out_);
  evaluation.clear_epochs_done();
  evaluation.clear_metrics();
  failure_.clear();
  for (const auto& [name, value] : metrics) (*evaluation.mutable_metrics())[name] = value;
  history_.push_back(std::move(evaluation));
}

v1::Evaluation Evaluations::Take() {
  v1::Evaluation evaluation = std::move(*running_);
  running_.reset();
  failure_.clear();
  for (size_t i = 0; i < sets_.size(); ++i) {
    for (const auto& [metric, value] : MetricsOf(job_, sums_[i])) {
      (*evaluation.mutable_metrics())[NameMetric({sets_[i], metric})] = value;
    }
  }
  sums_.clear();  // Frees memory: they may contain large samples of groups.
  history_.push_back(evaluation);
  if (history_.size() > kHistory) history_.erase(history_.begin());
  return evaluation;
}

}  // namespace capstan::chief
