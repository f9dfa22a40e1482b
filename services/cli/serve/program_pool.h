// Runs several processes of a user's program, which compute one version of its model. Each computes
// one batch at a time.
#ifndef CAPSTAN_CLI_SERVE_PROGRAM_POOL_H_
#define CAPSTAN_CLI_SERVE_PROGRAM_POOL_H_

#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "cli/model/finished_model.h"
#include "cli/serve/batch_scorer.h"
#include "cli/serve/serving_program.h"

namespace capstan::cli {

struct ProgramOptions {
  // One simple command, which a shell runs with `exec` in front. Empty: there is no program.
  std::string command;
  int processes = 1;  // How many processes there are.
  // How long to wait for a free process, and then for the batch.
  absl::Duration patience = absl::Seconds(30);
  // Called on a thread of the pool with one line when a process has ended, or cannot be started.
  std::function<void(const std::string&)> tell = [](const std::string&) {};
};

// A process that ends is replaced, and so is one that takes too long for a batch, which is killed.
// If a process cannot be started, that is tried again after pauses that grow up to 30 s.
// Thread-safe.
class ProgramPool : public BatchScorer {
 public:
  // Starts the processes and returns when all of them have taken the model, which must outlive this
  // object. Returns the error of ServingProgram::Start if one of them has not.
  static absl::StatusOr<std::unique_ptr<ProgramPool>> Start(const FinishedModel& model,
                                                            ProgramOptions options);
  // Ends the processes. REQUIRES: no call of Logits is under way.
  ~ProgramPool() override;

  absl::StatusOr<std::vector<float>> Logits(const Batch& batch) override;
  bool ready() const override;

 private:
  ProgramPool(const FinishedModel& model, ProgramOptions options);

  absl::StatusOr<std::unique_ptr<ServingProgram>> Take();
  void Give(std::unique_ptr<ServingProgram> program);

  // Runs on a thread of its own, whose children all processes are.
  void Run();
  absl::Status StartOne();
  void EndLost();
  bool complete() const;

  const FinishedModel& model_;
  const ProgramOptions options_;
  mutable absl::Mutex mu_;
  std::vector<std::unique_ptr<ServingProgram>> free_ ABSL_GUARDED_BY(mu_);
  // Processes to be ended.
  std::vector<std::unique_ptr<ServingProgram>> lost_ ABSL_GUARDED_BY(mu_);
  int alive_ ABSL_GUARDED_BY(mu_) = 0;         // Processes that are free, or compute.
  absl::Status failure_ ABSL_GUARDED_BY(mu_);  // Why the last start failed.
  absl::Notification begun_;  // All processes are started, or one has failed to start.
  absl::Notification ends_;
  std::thread thread_;
};

}  // namespace capstan::cli

#endif  // CAPSTAN_CLI_SERVE_PROGRAM_POOL_H_
