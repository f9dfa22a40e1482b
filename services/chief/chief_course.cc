// ChiefMachine: the course of the job, from the quorum of shards to the beginning of the end.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "chief/chief_machine.h"

namespace capstan::chief {

void ChiefMachine::Advance(absl::Time now) {
  if (state_ == v1::JOB_STATE_PENDING) AdvanceStart(now);
  if (state_ == v1::JOB_STATE_RUNNING) {
    const WorkTotals totals = work_.totals();
    const uint64_t steps = std::max(totals.steps, boundary_.round());
    progress_.Update(totals.examples, steps, now);
    const uint64_t max_steps = plan_.spec.train().max_steps();
    if (work_.all_done()) BeginEnd("");
    if (max_steps > 0 && steps >= max_steps) BeginEnd("");
    if (closes_streams_) closer_.Advance(ShardIndexes(), options_.call_deadline, calls_);
    AdvanceEvaluation(now);
  }
  AdvanceEnd(now);
  RefreshView(now);
  if (ended()) return;
  for (CallShard& call : calls_.TakeDue(views_.current(), now)) {
    actions_.push_back(std::move(call));
  }
}

void ChiefMachine::AdvanceStart(absl::Time now) {
  if (!shards_.complete() || shards_.SilentFor(worker_lease(), now) != nullptr) return;
  views_.MakeMap(plan_.spec.partition_count(), options_.shards);
  progress_.Start(now);
  state_ = v1::JOB_STATE_RUNNING;
  Log(LogEvent::Level::kInfo, "training begins",
      {{"shards", absl::StrCat(options_.shards)},
       {"partitions", absl::StrCat(plan_.spec.partition_count())},
       {"tasks", absl::StrCat(plan_.train.size())},
       {"epochs", absl::StrCat(plan_.spec.train().epochs())}});
}

void ChiefMachine::CheckLimits() {
  if (ended() || state_ == v1::JOB_STATE_PENDING) return;
  if (absl::Status refusal = calls_.Refusal(); !refusal.ok()) {
    Fail(v1::FAILURE_KIND_ERROR, std::string(refusal.message()));
    return;
  }
  // Every worker counts a record once, so one that is read in each epoch may be counted in each.
  const uint64_t epochs_begun =
      std::min<uint64_t>(work_.totals().epochs_done + 1, plan_.spec.train().epochs());
  const uint64_t limit = plan_.spec.data().max_bad_records();
  if (workers_.bad_records() <= limit * epochs_begun) return;
  const std::vector<std::string> examples = workers_.bad_record_examples();
  Fail(
      v1::FAILURE_KIND_BAD_INPUT,
      absl::StrCat(workers_.bad_records(), " bad records, more than data.max_bad_records = ", limit,
                   examples.empty() ? "" : absl::StrCat("; the first: ", examples.front())));
}

void ChiefMachine::CheckSilentShards(absl::Time now) {
  if (ended() || !generations_.any_given()) return;
  const absl::Duration patience = options_.shard_patience * worker_lease();
  const Shard* silent = shards_.SilentFor(patience, now);
  if (silent == nullptr) return;
  Fail(v1::FAILURE_KIND_ERROR,
       absl::StrCat("shard ", silent->index, " (", silent->address, ") is lost: silent for ",
                    absl::FormatDuration(absl::Trunc(now - silent->heard, absl::Seconds(1)))));
}

void ChiefMachine::AdvanceEvaluation(absl::Time now) {
  if (evaluations_.complete()) TakeEvaluation(now);
  if (evaluations_.running() || end_.begun()) return;
  const WorkTotals totals = work_.totals();
  const bool due = evaluations_.Due(progress_.examples(), totals.epochs_done);
  if (!work_.has_lanes()) {
    if (due) BeginEvaluation(/*at_boundary=*/false, /*final=*/false, now);
    return;
  }
  if (due) boundary_.Seek(views_.keeper(), options_.call_deadline, calls_);
  if (!boundary_.reached()) return;
  if (due) {
    BeginEvaluation(/*at_boundary=*/true, /*final=*/false, now);
  } else {
    boundary_.Release(views_.keeper(), options_.call_deadline, calls_);
  }
}

void ChiefMachine::BeginEvaluation(bool at_boundary, bool final, absl::Time now) {
  v1::Evaluation about;
  about.set_examples(progress_.examples());
  about.set_step(progress_.steps());
  about.set_elapsed_seconds(progress_.elapsed_seconds(now));
  about.set_at_round_boundary(at_boundary);
  about.set_final(final);
  about.set_train_loss(progress_.loss());
  evaluations_.Begin(std::move(about), work_.totals().epochs_done);
}

void ChiefMachine::TakeEvaluation(absl::Time now) {
  const v1::Evaluation evaluation = evaluations_.Take();
  AddCurvePoint(evaluation, now);
  std::vector<std::pair<std::string, std::string>> fields = {
      {"number", absl::StrCat(evaluation.number())},
      {"examples", absl::StrCat(evaluation.examples())},
      {"live", evaluation.at_round_boundary() ? "no" : "yes"}};
  for (const auto& [name, value] : evaluation.metrics()) {
    fields.emplace_back(name, absl::StrFormat("%.6g", value));
  }
  std::sort(fields.begin() + 3, fields.end());
  Log(LogEvent::Level::kInfo, "evaluated", std::move(fields));
  if (evaluation.final()) return;
  if (std::optional<std::string> stop = early_stop_.Add(evaluation)) BeginEnd(*stop);
}

void ChiefMachine::BeginEnd(std::string_view reason) {
  if (end_.begun()) return;
  end_.step = EndStep::kBoundary;
  reason_ = std::string(reason);
  Log(LogEvent::Level::kInfo, "training ends",
      {{"examples", absl::StrCat(progress_.examples())},
       {"steps", absl::StrCat(progress_.steps())},
       {"reason", reason_.empty() ? "done" : reason_}});
}

void ChiefMachine::Fail(v1::FailureKind kind, std::string_view reason) {
  if (ended()) return;
  state_ = v1::JOB_STATE_FAILED;
  failure_kind_ = kind;
  reason_ = std::string(reason);
  work_.ReleaseAll();
  calls_.CancelAll();
  Log(LogEvent::Level::kError, "the job has failed", {{"reason", reason_}});
}

}  // namespace capstan::chief
