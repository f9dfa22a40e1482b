// Processes of a user's program that compute one version of its model, a batch each at a time.
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
  // One simple command, whose words a shell reads: `exec` stands before it. Empty: there is no
  // program.
  std::string command;
  int processes = 1;                            // So many compute at a time.
  absl::Duration patience = absl::Seconds(30);  // For a batch, and for one's turn.
  // Is told, a line each, on a thread of the pool, that a process has ended and is started again.
  std::function<void(const std::string&)> tell = [](const std::string&) {};
};

// A process that ends, or that takes too long for a batch and is ended for that, is replaced; what
// cannot be started is tried again, after longer and longer pauses of 30 s at most. Thread-safe.
class ProgramPool : public BatchScorer {
 public:
  // Returns when all have the model, which must outlive this object; or why one has not:
  // ServingProgram's errors.
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

  // On a thread of its own, which all processes are children of.
  void Run();
  absl::Status StartOne();
  void EndLost();
  bool complete() const;

  const FinishedModel& model_;
  const ProgramOptions options_;
  mutable absl::Mutex mu_;
  std::vector<std::unique_ptr<ServingProgram>> free_ ABSL_GUARDED_BY(mu_);
  std::vector<std::unique_ptr<ServingProgram>> lost_ ABSL_GUARDED_BY(mu_);  // To be ended.
  int alive_ ABSL_GUARDED_BY(mu_) = 0;         // Those that are free, or compute.
  absl::Status failure_ ABSL_GUARDED_BY(mu_);  // Why the last start failed.
  absl::Notification begun_;                   // All are started, or one has failed.
  absl::Notification ends_;
  std::thread thread_;
};

}  // namespace capstan::cli

#endif  // CAPSTAN_CLI_SERVE_PROGRAM_POOL_H_
