// What a worker's trainers compute with: the job's towers, or the user's own program.
#ifndef CAPSTAN_WORKER_SHELL_MODEL_SOURCE_H_
#define CAPSTAN_WORKER_SHELL_MODEL_SOURCE_H_

#include <memory>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "capstan/rpc/event_loop.h"
#include "capstan/v1/chief.pb.h"
#include "capstan/v1/job.pb.h"
#include "worker/shell/computer.h"

namespace capstan::worker {

// The tensors of a user's program, and the values that they begin with: one after another, in the
// order of the declaration.
struct DeclaredModel {
  v1::ModelDeclaration declaration;
  std::vector<float> values;
};

// Called by the worker's thread alone.
class ModelSource {
 public:
  virtual ~ModelSource() = default;

  // Returns the tensors that the user's program wants to train; `job` has none yet. Waits for the
  // program. The result is owned by this object, and the same at each call. FAILED_PRECONDITION:
  // there is no program. ABORTED: its model was built for another job. CANCELLED: the worker is to
  // end, or the program has failed.
  virtual absl::StatusOr<const DeclaredModel*> Declare(const v1::JobSpec& job) = 0;

  // Why the user's program could not declare its tensors; nullopt: it has not failed.
  virtual std::optional<v1::UserCodeError> failure() const { return std::nullopt; }

  // Makes the computer of one trainer. FAILED_PRECONDITION, INVALID_ARGUMENT: the job's model
  // cannot be computed here. ABORTED: the program's model was built for another job; a new process
  // of the program can compute it. `loop` must outlive the computer.
  virtual absl::StatusOr<std::unique_ptr<Computer>> NewComputer(const v1::JobSpec& job,
                                                                const ComputeOptions& options,
                                                                EventLoop& loop) = 0;

  // Whether the user's program has failed at a step, or was interrupted: nobody computes the steps
  // that wait, and the worker need not wait for them when it drains.
  virtual bool gone() const { return false; }

  // The worker has ended: no step is computed any more.
  virtual void OnEnd() {}
};

// Computes the towers of the job, on one thread for each trainer.
class TowerSource final : public ModelSource {
 public:
  absl::StatusOr<const DeclaredModel*> Declare(const v1::JobSpec& job) override;
  absl::StatusOr<std::unique_ptr<Computer>> NewComputer(const v1::JobSpec& job,
                                                        const ComputeOptions& options,
                                                        EventLoop& loop) override;
};

}  // namespace capstan::worker

#endif  // CAPSTAN_WORKER_SHELL_MODEL_SOURCE_H_
