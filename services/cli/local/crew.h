// The processes of one job on this machine: a chief, shards and workers on loopback, the same
// programs that the containers run. Who dies is started again, until it dies again and again; a
// chief that ends by itself has ended the job.
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
  int chief_port = 0;  // 0: any free one.
  // Go on without a worker that dies again and again, while there is another.
  bool keep_going = false;
  // The command that each worker is, in place of `worker`: the user's own program. It is one simple
  // command, whose words a shell reads: `exec` stands before it. What would be flags are variables
  // of its environment (docs/python.md).
  std::string worker;
};

// Confined to the thread that makes it.
class Crew {
 public:
  // `folder` and `shutdown` must outlive this object.
  Crew(CrewOptions options, const RunFolder& folder, const Shutdown& shutdown);

  // Starts the chief and waits until it listens; then starts the others. CANCELLED if a shutdown is
  // asked for meanwhile. What has been started before an error runs on until Stop.
  absl::Status Start();

  // host:port, once the chief listens.
  const std::string& chief_address() const { return chief_address_; }

  // Looks after everybody: notices who has died and starts them again. Returns the news, a line
  // each. An error says why the job cannot go on.
  absl::StatusOr<std::vector<std::string>> LookAfter();

  // The processes that run now, by name: "chief", "ps-0", "worker-0".
  std::map<std::string, pid_t> processes() const;

  // How the chief ended by itself, as soon as it has.
  std::optional<Ending> chief_ending();

  // The log of whom the last error was about; empty: there was none.
  const std::string& culprit_log() const { return culprit_log_; }

  // Asks all to end: workers first, so that they can give back what they hold, then the rest.
  // Whoever has not ended after `grace` is killed; their names are returned.
  std::vector<std::string> Stop(absl::Duration grace);

 private:
  struct Child {
    std::string name;
    std::vector<std::string> argv;
    std::optional<Process> process;
    absl::Time started;
    absl::Time restart_at = absl::InfiniteFuture();  // While it is dead.
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
  bool IsLastWorker(const Child& worker) const;  // All others have been given up.
  absl::Status LookAfterChild(Child& child, bool needed, std::vector<std::string>& news);

  const CrewOptions options_;
  const RunFolder& folder_;
  const Shutdown& shutdown_;
  std::optional<HeldPort> chief_port_;  // While the chief is dead nobody else is to have it.
  std::string chief_address_;
  std::string culprit_log_;
  std::string fresh_name_;  // Under which the job is started over.
  Child chief_;
  std::vector<Child> shards_;
  std::vector<Child> workers_;
};

}  // namespace capstan::cli

#endif  // CAPSTAN_CLI_LOCAL_CREW_H_
