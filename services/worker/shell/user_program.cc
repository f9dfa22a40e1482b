#include "worker/shell/user_program.h"

#include <utility>

namespace capstan::worker {
namespace {

constexpr absl::Duration kGlance = absl::Milliseconds(100);

}  // namespace

std::optional<v1::JobSpec> UserProgram::AwaitJob(absl::Duration timeout) {
  absl::MutexLock lock(&mu_);
  const auto known = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) { return job_.has_value(); };
  mu_.AwaitWithTimeout(absl::Condition(&known), timeout);
  return job_;
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
  if (!job_) return std::nullopt;
  return StepLimit{.program = job_->model().user(),
                   .timeout = absl::Seconds(job_->train().step_timeout_seconds())};
}

v1::JobSpec UserProgram::job() const {
  absl::MutexLock lock(&mu_);
  return *job_;
}

absl::StatusOr<const DeclaredModel*> UserProgram::Declare(const v1::JobSpec& job) {
  {
    absl::MutexLock lock(&mu_);
    job_ = job;
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
  job_ = job;
  return std::make_unique<UserCompute>(steps_, loop);
}

}  // namespace capstan::worker
