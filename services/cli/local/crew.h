// The processes of one job on this machine: a chief, shards and workers on loopback, the same
// programs that the containers run. A process that dies is started again, unless it dies too often
// in a row. When the chief exits by itself, the job is over.
#ifndef CAPSTAN_CLI_LOCAL_CREW_H_
#define CAPSTAN_CLI_LOCAL_CREW_H_

#include <sys/types.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "capstan/base/shutdown.h"
#include "cli/local/held_port.h"
#include "cli/local/process.h"
#include "cli/local/restarts.h"
#include "cli/local/run_folder.h"

namespace capstan::cli {

struct CrewOptions {
  std::string programs;  // The folder that holds chief, ps and worker.
  std::string job;       // Path of the job file.
  std::vector<std::string> overrides;
  bool fresh = false;
  std::string from;
  bool take_over = false;
  int shards = 1;
  int workers = 1;
  int chief_port = 0;  // 0: any free port.
  // Go on without a worker that dies too often in a row, as long as there is another.
  bool keep_going = false;
  // The command of the user's own program, which is run as each worker in place of `worker`. It
  // must be one simple command: a shell runs it with `exec` in front. What `worker` gets as flags
  // it gets as environment variables (docs/python.md).
  std::string worker;
};

// Confined to the thread that makes it.
class Crew {
 public:
  // `folder` and `shutdown` must outlive this object.
  Crew(CrewOptions options, const RunFolder& folder, const Shutdown& shutdown);

  // Starts the chief and waits until it listens; then starts the others. CANCELLED: a shutdown is
  // asked for meanwhile. Processes that were started before an error run on until Stop.
  absl::Status Start();

  // The chief's host:port, once it listens.
  const std::string& chief_address() const { return chief_address_; }

  // Notices which processes have died, and starts them again. Returns a line for each death. An
  // error says why the job cannot go on.
  absl::StatusOr<std::vector<std::string>> LookAfter();

  // The processes that run now, by name: "chief", "ps-0", "worker-0".
  std::map<std::string, pid_t> processes() const;

  // Returns how the chief exited by itself; nothing while it runs, or if a signal ended it.
  std::optional<Ending> chief_ending();

  // The path of the log of the process that the last error was about; empty: there was none.
  const std::string& culprit_log() const { return culprit_log_; }

  // Asks all processes to end: workers first, so that they can give back their leases, then the
  // others. Each group has half of `grace`; processes that have not ended then are killed. Returns
  // the names of those killed.
  std::vector<std::string> Stop(absl::Duration grace);

 private:
  struct Child {
    std::string name;
    std::vector<std::string> argv;
    std::optional<Process> process;
    absl::Time started;
    absl::Time restart_at = absl::InfiniteFuture();  // While it is dead: when to start it again.
    Restarts restarts;

    bool given_up() const { return !process.has_value() && restart_at == absl::InfiniteFuture(); }
  };

  Child MakeChild(const std::string& program, const std::string& name) const;
  absl::Status StartChild(Child& child);
  Child MakeWorker(const std::string& name) const;
  absl::Status StartChief();
  absl::Status AwaitChief();
  std::vector<std::string> ChiefArguments(const std::string& listen) const;
  std::vector<std::string> BeginningArguments() const;
  absl::Status Blame(const Child& child, const std::string& what);
  bool IsUserProgram(const Child& child) const {
    return !options_.worker.empty() && child.name.starts_with("worker-");
  }
  bool IsLastWorker(const Child& worker) const;  // All other workers have been given up.
  absl::Status LookAfterChild(Child& child, bool needed, std::vector<std::string>& news);

  const CrewOptions options_;
  const RunFolder& folder_;
  const Shutdown& shutdown_;
  // Held so that no other process takes it while the chief is dead.
  std::optional<HeldPort> chief_port_;
  std::string chief_address_;
  std::string culprit_log_;
  std::string fresh_name_;  // The name under which the job is started over; see --fresh-once.
  Child chief_;
  std::vector<Child> shards_;
  std::vector<Child> workers_;
};

}  // namespace capstan::cli

#endif  // CAPSTAN_CLI_LOCAL_CREW_H_
