// The user's own program as the model of a worker: the program hears of the job, declares its
// tensors, and then takes steps and computes them.
#ifndef CAPSTAN_WORKER_SHELL_USER_PROGRAM_H_
#define CAPSTAN_WORKER_SHELL_USER_PROGRAM_H_

#include <memory>
#include <optional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "capstan/base/clock.h"
#include "capstan/base/shutdown.h"
#include "capstan/v1/job.pb.h"
#include "worker/shell/model_source.h"
#include "worker/shell/user_compute.h"

namespace capstan::worker {

// Each worker has one. Thread-safe: the worker calls the methods of ModelSource, the program calls
// the others.
class UserProgram final : public ModelSource {
 public:
  // `shutdown` must outlive this object.
  explicit UserProgram(const Shutdown& shutdown) : shutdown_(shutdown) {}

  // Waits until the chief has told the job, by which the program builds its model, and returns it;
  // nullopt after `timeout`. The program keeps this job: if the chief tells another one, the worker
  // ends.
  std::optional<v1::JobSpec> AwaitJob(absl::Duration timeout);
  // Gives the worker the tensors that the program trains. To be called once, after AwaitJob.
  void Declare(DeclaredModel model);
  // To be called instead of Declare() if the program has failed.
  void Fail(v1::UserCodeError error);
  UserSteps& steps() { return steps_; }
  // The job's limit on the time of a step; nullopt until the job is known.
  struct StepLimit {
    std::string program;  // model.user
    absl::Duration timeout;
  };
  std::optional<StepLimit> step_limit() const;
  // The job, with the tensors that the chief has made from the declaration. REQUIRES: a step has
  // been taken.
  std::shared_ptr<const v1::JobSpec> job() const;

  absl::StatusOr<const DeclaredModel*> Declare(const v1::JobSpec& job) override;
  std::optional<v1::UserCodeError> failure() const override;
  absl::StatusOr<std::unique_ptr<Computer>> NewComputer(const v1::JobSpec& job,
                                                        const ComputeOptions& options,
                                                        EventLoop& loop) override;
  bool gone() const override { return steps_.failed(); }
  void OnEnd() override { steps_.Close(); }

 private:
  // ABORTED: the job is another one than the program was given.
  absl::Status LearnJob(const v1::JobSpec& job) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const Shutdown& shutdown_;
  const SteadyClock clock_{};
  UserSteps steps_{clock_};
  mutable absl::Mutex mu_;
  std::optional<v1::JobSpec> given_ ABSL_GUARDED_BY(mu_);  // Never changes once it is there.
  // As the chief says now; null until it is told. Shared with those who asked for it meanwhile.
  std::shared_ptr<const v1::JobSpec> job_ ABSL_GUARDED_BY(mu_);
  std::optional<v1::UserCodeError> failure_ ABSL_GUARDED_BY(mu_);
  std::optional<DeclaredModel> model_ ABSL_GUARDED_BY(mu_);  // Never changes once it is set.
};

}  // namespace capstan::worker

#endif  // CAPSTAN_WORKER_SHELL_USER_PROGRAM_H_
