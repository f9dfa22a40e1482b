// Follows a crew until its job is over, and shows its progress.
#ifndef CAPSTAN_CLI_STATUS_FOLLOWER_H_
#define CAPSTAN_CLI_STATUS_FOLLOWER_H_

#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "capstan/base/shutdown.h"
#include "capstan/v1/chief.pb.h"
#include "cli/local/crew.h"
#include "cli/local/process.h"
#include "cli/status/chief_client.h"
#include "cli/status/progress_display.h"
#include "cli/status/terminal.h"

namespace capstan::cli {

// Confined to the thread that made the crew.
class Follower {
 public:
  // All must outlive this object. `tls`: what the chief is shown; null: plaintext.
  Follower(Crew& crew, const Shutdown& shutdown, Terminal& terminal, const Tls* tls)
      : crew_(crew), shutdown_(shutdown), terminal_(terminal), tls_(tls), progress_(terminal) {}

  // Returns OK when the job is over, completed or failed; status() says which, if the chief could
  // still report it. CANCELLED: a shutdown is asked for. Any other error says why the crew cannot
  // go on.
  absl::Status Follow();

  // Takes a checkpoint after Follow was cancelled, however long that takes, and shows the progress.
  // Returns the checkpoint's folder, or why there is none; FAILED_PRECONDITION also if the job was
  // not training. The job may be over afterwards.
  absl::StatusOr<std::string> Save();

  // After Follow: waits for the chief to end by itself, which it does soon after the job. Returns
  // nothing if it does not end in time.
  std::optional<Ending> AwaitChief();

  // What the chief said last.
  const v1::GetStatusReply& status() const { return status_; }
  // False: the job had ended before this crew began.
  bool worked() const { return worked_; }

 private:
  // Asks the chief for the status, and shows it.
  void Look(ChiefClient& chief);

  Crew& crew_;
  const Shutdown& shutdown_;
  Terminal& terminal_;
  const Tls* const tls_;
  ProgressDisplay progress_;
  v1::GetStatusReply status_;
  bool worked_ = false;
};

}  // namespace capstan::cli

#endif  // CAPSTAN_CLI_STATUS_FOLLOWER_H_
