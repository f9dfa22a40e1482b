#include "chief/duties/report_duty.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "capstan/base/hash.h"
#include "capstan/base/quote.h"
#include "capstan/consistency/generation.h"
#include "chief/work/shortened_report.h"

namespace capstan::chief {
namespace {

constexpr uint64_t kManyBadRecords = uint64_t{1} << 40;  // More than any task has.

bool IsNonfinite(const v1::LeaseReport& report) {
  return report.nonfinite_loss() || !std::isfinite(report.loss_sum());
}

// The work name for accusations of a place in the user's program: a program that fails there fails
// again with any batch.
WorkName PlaceOf(const v1::UserCodeError& error) {
  return {.number = HashText(absl::StrCat(error.type(), " ", error.place()))};
}

// The work name for accusations of the program's failures at a piece of work: a program that hangs
// does not fail twice at the same place.
WorkName OfProgram(const WorkName& work) {
  return {.number = HashText(absl::StrCat("program ", work.kind, " ", work.number, " ", work.part)),
          .part = 1};
}

std::string UserCodeText(const std::string& worker, const v1::UserCodeError& error) {
  constexpr size_t kMostMessage = 500;
  constexpr size_t kMostTraceback = 1000;
  const std::string end = LastBytes(error.traceback(), kMostTraceback);
  return absl::StrCat(error.place(), ": ", error.type(), ": ",
                      FirstBytes(error.message(), kMostMessage), " (in the program of worker ",
                      worker, "; the end of its traceback: ",
                      absl::StrJoin(absl::StrSplit(end, '\n', absl::SkipWhitespace()), " | "), ")");
}

}  // namespace

void ReportDuty::Take(const Worker& worker, const v1::LeaseReport& told) {
  const std::optional<v1::LeaseReport> shortened = Shortened(told);
  const v1::LeaseReport& said = shortened ? *shortened : told;
  const std::vector<TrainerId> trainers = worker.trainer_ids();
  // The updates of another timeline have been discarded.
  if (said.timeline() != job_->placement.timeline()) return;
  const std::optional<v1::LeaseReport> doubted = Doubted(worker, said);
  const v1::LeaseReport& report = doubted ? *doubted : said;
  ReportResult result = job_->training.work.Report(trainers, report);
  if (!result.known) result = job_->training.evaluations.Report(trainers, report);
  if (!result.known && Adopts(trainers, said)) result = job_->training.work.Adopt(report);
  if (!result.known || job_->ended()) return;
  if (!result.failure) job_->training.progress.AddLoss(result.examples, result.loss_sum);
  for (const TaskBadRecords& task : result.bad_records) job_->training.bad_records.Add(task);
  if (report.returned() || result.failure) ++retries_;
  for (v1::StreamClose& close : result.closes) {
    job_->training.accusations.Forget(result.work);
    job_->training.accusations.Forget(OfProgram(result.work));
    job_->training.closes.Add(std::move(close), job_->writer);
  }
  CheckBadRecords();
  if (result.failure) OnFailure(worker, result, said);
}

// If `said` would end the job on the report of one worker, returns it changed so that the work is
// given to another worker first. Returns nullopt if `said` can be taken in as it is.
std::optional<v1::LeaseReport> ReportDuty::Doubted(const Worker& worker,
                                                   const v1::LeaseReport& said) {
  if (IsNonfinite(said)) {
    v1::LeaseReport report = said;
    report.clear_finished();
    report.clear_lane_tasks_done();
    report.set_loss_sum(0);
    report.set_error(absl::StrCat("the loss is not finite after ",
                                  job_->training.progress.examples(), " examples, on worker ",
                                  worker.name, "; a lower learning rate may help"));
    return report;
  }
  const std::vector<TrainerId> trainers = worker.trainer_ids();
  std::optional<WorkName> work =
      job_->training.work.NameOf(trainers, GenerationFromProto(said.generation()));
  if (!work && Adopts(trainers, said)) work = job_->training.work.NameOfAdopted(said);
  const uint64_t limit = job_->plan.spec.data().max_bad_records();
  const auto too_many = [&](uint64_t bad) {
    return bad > limit - std::min(limit, job_->training.bad_records.count());
  };
  if (!work || job_->ended()) return std::nullopt;
  if (work->kind == v1::LEASE_KIND_TASK) {
    if (!said.finished() || !too_many(said.bad_records()) || Accuse(worker, *work)) {
      return std::nullopt;
    }
    v1::LeaseReport report = said;
    report.clear_finished();
    report.set_returned(true);
    return report;
  }
  uint64_t bad = 0;
  for (int i = 0; i < said.lane_tasks_done_size(); ++i) {
    const v1::LaneTaskDone& done = said.lane_tasks_done(i);
    if (done.ordinal() < work->part) continue;
    bad += std::min(done.bad_records(), kManyBadRecords);
    if (!too_many(bad)) continue;
    if (Accuse(worker, {work->kind, work->number, done.ordinal()})) return std::nullopt;
    v1::LeaseReport report = said;
    report.mutable_lane_tasks_done()->DeleteSubrange(i, said.lane_tasks_done_size() - i);
    report.clear_finished();
    report.set_returned(true);
    return report;
  }
  return std::nullopt;
}

// Records that a worker says that `work` cannot be done. Returns true if that is now accepted; see
// Accusations.
bool ReportDuty::Accuse(const Worker& worker, const WorkName& work) {
  const std::string voice = job_->training.workers.VoiceOf(worker);
  job_->training.accusations.Add(work, voice);
  const std::vector<Membership::Candidate> all = job_->training.workers.Eligible();
  const bool others = std::any_of(all.begin(), all.end(), [&](const auto& candidate) {
    return job_->training.workers.VoiceOf(*candidate.worker) != voice;
  });
  return job_->training.accusations.Stands(work, others);
}

void ReportDuty::OnFailure(const Worker& worker, const ReportResult& result,
                           const v1::LeaseReport& said) {
  const TaskFailure& failure = *result.failure;
  const bool nonfinite = IsNonfinite(said);
  const bool user_code = said.has_user_code();
  const bool again = failure.attempts >= job_->options.max_task_failures;
  const bool certain = failure.bad_data || nonfinite;
  const bool stands = Accuse(worker, user_code ? OfProgram(result.work) : result.work);
  const bool same_place = user_code && Accuse(worker, PlaceOf(said.user_code()));
  if (!same_place && !(stands && (certain || again))) {
    job_->outbox.Log(LogEvent::Level::kWarning, "a task failed and is given to another",
                     {{"worker", worker.name}, {"error", failure.error}});
    return;
  }
  const std::string reason =
      user_code ? UserCodeText(worker.name, said.user_code())
      : certain ? failure.error
                : absl::StrCat(failure.error, " (failed ", failure.attempts, " times)");
  const bool of_evaluation = result.work.kind == v1::LEASE_KIND_EVALUATION;
  if (of_evaluation && !nonfinite && !user_code) return GiveUpEvaluation(reason);
  job_->Fail(failure.bad_data ? v1::FAILURE_KIND_BAD_INPUT : v1::FAILURE_KIND_ERROR, reason);
}

// Returns true if the report is of a lease that an earlier chief of this job has granted to one of
// `trainers`, which its seal proves, and the job may train.
bool ReportDuty::Adopts(const std::vector<TrainerId>& trainers,
                        const v1::LeaseReport& report) const {
  SealedLease sealed{.trainer = TrainerId{report.trainer()},
                     .generation = GenerationFromProto(report.generation()),
                     .stream = {report.stream()}};
  if (report.kind() == v1::LEASE_KIND_LANE) sealed.lane = report.lane();
  return job_->MayTrain() && sealed.generation.term < job_->options.term &&
         std::find(trainers.begin(), trainers.end(), sealed.trainer) != trainers.end() &&
         job_->training.sealer.IsRight(report.generation().seal(), job_->SealOf(sealed));
}

void ReportDuty::CheckBadRecords() {
  const uint64_t limit = job_->plan.spec.data().max_bad_records();
  if (job_->training.bad_records.count() <= limit) return;
  const std::vector<std::string>& examples = job_->training.bad_records.examples();
  job_->Fail(v1::FAILURE_KIND_BAD_INPUT,
             absl::StrCat(job_->training.bad_records.count(),
                          " bad records, more than data.max_bad_records = ", limit,
                          examples.empty() ? "" : absl::StrCat("; the first: ", examples.front())));
}

// The job continues, or ends, without these metrics: the model is more important than they are.
void ReportDuty::GiveUpEvaluation(const std::string& why) {
  job_->outbox.Warn("evaluation",
                    absl::StrCat("the evaluation after ", job_->training.progress.examples(),
                                 " examples was given up, and the job goes on: ", why));
  job_->training.evaluations.GiveUp(why);
}

}  // namespace capstan::chief
