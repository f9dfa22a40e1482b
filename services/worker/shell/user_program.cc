#include "worker/shell/user_program.h"

#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "capstan/base/status.h"
#include "capstan/consistency/decisions.h"
#include "worker/shell/job_facts.h"

namespace capstan::worker {
namespace {

constexpr absl::Duration kGlance = absl::Milliseconds(100);

}  // namespace

std::optional<v1::JobSpec> UserProgram::AwaitJob(absl::Duration timeout) {
  absl::MutexLock lock(&mu_);
  const auto known = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) { return given_.has_value(); };
  mu_.AwaitWithTimeout(absl::Condition(&known), timeout);
  return given_;
}

void UserProgram::Declare(DeclaredModel model) {
  absl::MutexLock lock(&mu_);
  if (!model_) model_ = std::move(model);
}

void UserProgram::Fail(v1::UserCodeError error) {
  absl::MutexLock lock(&mu_);
  failure_ = std::move(error);
}

std::optional<v1::UserCodeError> UserProgram::failure() const {
  absl::MutexLock lock(&mu_);
  return failure_;
}

std::optional<UserProgram::StepLimit> UserProgram::step_limit() const {
  absl::MutexLock lock(&mu_);
  if (job_ == nullptr) return std::nullopt;
  return StepLimit{.program = job_->model().user(),
                   .timeout = absl::Seconds(job_->train().step_timeout_seconds())};
}

std::shared_ptr<const v1::JobSpec> UserProgram::job() const {
  absl::MutexLock lock(&mu_);
  return job_;
}

// The process ends, and the one that is started in its place builds the model of this job. Held-out
// records may come while a job runs, and only a program without predict cannot compute them.
absl::Status UserProgram::LearnJob(const v1::JobSpec& job) {
  if (!given_) given_ = job;
  const Job given(*given_);
  const Job now(job);
  std::string difference = JobFactsDifference(given, now);
  const bool lacks_predict = model_ && model_->declaration.outputs().empty();
  if (difference.empty() && lacks_predict && now.evaluates && !given.evaluates) {
    difference = "records are held out (data.eval), and train() was given no predict";
  }
  if (!difference.empty()) {
    return absl::AbortedError(
        absl::StrCat("job ", job.job(), " is another one than this program was given: ", difference,
                     "; it ends, to be started again"));
  }
  job_ = std::make_shared<const v1::JobSpec>(job);
  return absl::OkStatus();
}

absl::StatusOr<const DeclaredModel*> UserProgram::Declare(const v1::JobSpec& job) {
  {
    absl::MutexLock lock(&mu_);
    CAPSTAN_RETURN_IF_ERROR(LearnJob(job));
  }
  // Meanwhile the program builds its model and declares it, which may take any time.
  for (;;) {
    {
      absl::MutexLock lock(&mu_);
      if (model_) return &*model_;
      if (failure_) return absl::CancelledError("the program has failed");
    }
    if (shutdown_.WaitFor(kGlance)) return absl::CancelledError("asked to stop");
  }
}

absl::StatusOr<std::unique_ptr<Computer>> UserProgram::NewComputer(const v1::JobSpec& job,
                                                                   const ComputeOptions&,
                                                                   EventLoop& loop) {
  if (job.model().user().empty()) {
    return absl::FailedPreconditionError(
        "model.user: is not set in the job file, so its workers are those of `worker`; set it to "
        "the name of the program");
  }
  absl::MutexLock lock(&mu_);
  CAPSTAN_RETURN_IF_ERROR(LearnJob(job));
  return std::make_unique<UserCompute>(steps_, loop, Compensates(job));
}

}  // namespace capstan::worker
