// Some batches of a job's data in this process, for a program that is tried: there is no chief, and
// no shard. Parameters are as they begin, and stay so.
#ifndef CAPSTAN_PYTHON_SRC_TRIAL_H_
#define CAPSTAN_PYTHON_SRC_TRIAL_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "capstan/client/parameter_map.h"
#include "capstan/data/formats/source.h"
#include "capstan/data/tasks/task_mix.h"
#include "capstan/data/tasks/task_reader.h"
#include "capstan/rpc/event_loop.h"
#include "capstan/store/table.h"
#include "capstan/v1/job.pb.h"
#include "worker/shell/computer.h"
#include "worker/shell/model_source.h"
#include "worker/shell/step.h"
#include "worker/shell/user_program.h"

namespace capstan::worker {

// Thread-compatible.
class Trial {
 public:
  // Reads the job, and plans its tasks. Errors are those of the chief and of a worker, for people:
  // one line a mistake. `program` must outlive the trial.
  static absl::StatusOr<std::unique_ptr<Trial>> Open(const std::string& path, UserProgram& program);

  // Without tensors before Declare.
  const v1::JobSpec& job() const { return job_; }

  // INVALID_ARGUMENT: no job can have such a model, its values are not finite, or it does not fit
  // the optimizer's groups.
  absl::Status Declare(DeclaredModel model);

  // Submits the next batch to the program, as a step whose values are pulled. False: there is none
  // any more. REQUIRES: a model is declared, and the step before is finished.
  absl::StatusOr<bool> SubmitTrained() { return Submit(trained_, Computer::Kind::kGradients); }
  absl::StatusOr<bool> SubmitHeldOut() { return Submit(held_out_, Computer::Kind::kLogits); }

 private:
  // What is read, task by task.
  struct Feed {
    uint32_t tasks = 0;
    uint32_t task = 0;  // The next one to be loaded.
    std::shared_ptr<const LoadedTask> loaded = nullptr;
    uint64_t batch = 0;  // The next one of it.
  };

  Trial(v1::JobSpec job, std::unique_ptr<const Source> source);
  absl::Status Plan();
  absl::StatusOr<bool> Submit(Feed& feed, Computer::Kind kind);
  absl::StatusOr<std::shared_ptr<Batch>> Read(Feed& feed, bool evaluation);
  void FillRows(Step& step) const;

  v1::JobSpec job_;
  const std::unique_ptr<const Source> source_;
  TaskReader reader_;
  std::optional<TaskMix> mix_;
  TaskRanges held_out_tasks_;
  Feed trained_;
  Feed held_out_;
  std::vector<std::unique_ptr<Table>> tables_;  // Without rows: all are as they begin.
  DeclaredModel model_;
  std::optional<ParameterMap> map_;
  std::optional<StepPool> steps_;
  EventLoop loop_;
  std::unique_ptr<Computer> computer_;  // Last: it uses the others.
};

}  // namespace capstan::worker

#endif  // CAPSTAN_PYTHON_SRC_TRIAL_H_
