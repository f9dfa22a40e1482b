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

// Started, asked how it ended and destroyed by one thread. Logits and lost are those of one thread
// at a time.
class ServingProgram {
 public:
  // Starts the command, one simple command whose words a shell reads, with the environment variable
  // CAPSTAN_SERVE, gives it the model, and waits until it has it. Its output goes to our standard
  // error. `model` must outlive this object. FAILED_PRECONDITION, in one line, if the program ends
  // before, takes longer than five minutes, or says that it and the model do not fit. CANCELLED
  // when `cancel` is notified.
  static absl::StatusOr<std::unique_ptr<ServingProgram>> Start(const std::string& command,
                                                               const FinishedModel& model,
                                                               const absl::Notification& cancel);

  // The logits of a batch. INTERNAL: the program has failed with it, and says where.
  // UNAVAILABLE, DEADLINE_EXCEEDED: it has ended, or has not answered for so long; it is lost.
  // REQUIRES: an example, and not lost.
  absl::StatusOr<std::vector<float>> Logits(const Batch& batch, absl::Duration patience);

  // It answers no more.
  bool lost() const { return lost_; }

  // Whether the process has ended. Never waits.
  bool ended() { return process_.Poll().has_value(); }
  // How it has ended, for a line of the log; of one that still runs after a moment, that it hangs.
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
