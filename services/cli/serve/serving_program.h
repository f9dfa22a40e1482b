// One process of a user's program, which computes one version of its model.
#ifndef CAPSTAN_CLI_SERVE_SERVING_PROGRAM_H_
#define CAPSTAN_CLI_SERVE_SERVING_PROGRAM_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "capstan/data/formats/batch.h"
#include "cli/local/process.h"
#include "cli/model/finished_model.h"
#include "cli/serve/program_socket.h"

namespace capstan::cli {

// Must be started, asked how it ended and destroyed by one thread. Logits and lost may be called by
// any thread, one at a time.
class ServingProgram {
 public:
  // Starts the command, one simple command which a shell runs, with the environment variable
  // CAPSTAN_SERVE, sends it the model, and waits until the program is ready. Its output goes to our
  // standard error. `model` must outlive this object. FAILED_PRECONDITION, in one line: the program
  // has ended before it was ready, takes longer than five minutes, or says that it does not fit the
  // model. CANCELLED: `cancel` was notified.
  static absl::StatusOr<std::unique_ptr<ServingProgram>> Start(const std::string& command,
                                                               const FinishedModel& model,
                                                               const absl::Notification& cancel);

  // Returns the logits of a batch. INTERNAL: the program has failed with this batch; the message is
  // its own. UNAVAILABLE: the program has ended or its answer is malformed. DEADLINE_EXCEEDED: it
  // has not answered within `patience`. After the last two it is lost. REQUIRES: the batch has at
  // least one example, and !lost().
  absl::StatusOr<std::vector<float>> Logits(const Batch& batch, absl::Duration patience);

  // The program cannot be used any more.
  bool lost() const { return lost_; }

  // Returns whether the process has ended. Never waits.
  bool ended() { return process_.Poll().has_value(); }
  // Says how the process has ended, for a line of the log. Waits a second for its end; if it still
  // runs then, says that it does not answer.
  std::string HowItEnded();

 private:
  ServingProgram(const FinishedModel& model, std::unique_ptr<ProgramSocket> socket, Process process)
      : model_(model), socket_(std::move(socket)), process_(std::move(process)) {}

  absl::Status GiveModel(const absl::Notification& cancel);

  const FinishedModel& model_;
  const std::unique_ptr<ProgramSocket> socket_;
  Process process_;
  bool lost_ = false;
};

}  // namespace capstan::cli

#endif  // CAPSTAN_CLI_SERVE_SERVING_PROGRAM_H_
