// The process of a shard: opens its ports, registers with the chief, runs its loop, and drains it
// at the end.
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
  int index = -1;     // -1: the hostname's ordinal, "ps-3" -> 3.
  std::string listen = "0.0.0.0:7000";
  std::string advertise;  // host:port; empty: the hostname, or the host listened on if it is one.
  ServiceOptions service;
  // Where this shard's checkpoints are, and the checkpoint of another job that is only read. They
  // overrule what the chief says; empty: as the chief says.
  std::string checkpoint_uri;
  std::string from;
  // Memory that this process may use; 0: what its container may use, or the machine has.
  uint64_t memory_bytes = 0;
  std::string zone;  // Empty: not known.
  double chief_deadline_seconds = 300;
  double restore_seconds = 600;  // Start-up ends after this, even if nothing is served.
  double grace_seconds = 25;     // From SIGTERM until the shard leaves without the chief's consent.
};

// Serves until the process is asked to stop, then returns OK. INVALID_ARGUMENT: impossible options;
// UNAVAILABLE: a port is taken; DEADLINE_EXCEEDED: there is no chief. Other errors: the chief
// refuses this shard, or the shard cannot go on.
absl::Status RunPs(const ProcessOptions& options);

// Returns the number at the end of a StatefulSet's pod name. INVALID_ARGUMENT: there is none.
absl::StatusOr<int> OrdinalOf(const std::string& hostname);

}  // namespace capstan::ps

#endif  // CAPSTAN_PS_PROCESS_PS_PROCESS_H_
