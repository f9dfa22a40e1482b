// The process of a shard: opens its ports, registers with the chief, runs its loop, and drains at
// the end.
#ifndef CAPSTAN_PS_PROCESS_PS_PROCESS_H_
#define CAPSTAN_PS_PROCESS_PS_PROCESS_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "capstan/process/service.h"

namespace capstan::ps {

struct ProcessOptions {
  std::string chief;  // host:port
  int index = -1;     // -1: taken from the hostname, e.g. 3 from "ps-3".
  std::string listen = "0.0.0.0:7000";
  std::string advertise;  // host:port; empty: the hostname, or the host of `listen` if it has one.
  ServiceOptions service;
  // Where this shard's checkpoints are, and the checkpoint of another job that is only read. Empty:
  // as the chief says; otherwise these have precedence.
  std::string checkpoint_uri;
  std::string from;
  // How much memory this process may use; 0: the limit of its container, or all of the machine's.
  uint64_t memory_bytes = 0;
  std::string zone;  // Empty: not known.
  double chief_deadline_seconds = 300;
  double restore_seconds =
      600;                    // The startup probe succeeds after this, even if nothing is served.
  double grace_seconds = 25;  // After SIGTERM, how long to wait for the chief's consent to leave.
};

// Serves until the process is asked to stop, then returns OK. INVALID_ARGUMENT: impossible options;
// UNAVAILABLE: a port is taken; DEADLINE_EXCEEDED: there is no chief. Other errors: the chief
// refuses this shard, or the shard cannot continue.
absl::Status RunPs(const ProcessOptions& options);

// Returns the number at the end of a StatefulSet's pod name. INVALID_ARGUMENT: it has none.
absl::StatusOr<int> OrdinalOf(const std::string& hostname);

}  // namespace capstan::ps

#endif  // CAPSTAN_PS_PROCESS_PS_PROCESS_H_
