// A shard as a process: ports, the chief, the loop, the end.
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
  // Where this shard's checkpoints are, and the one that is only read, whatever the chief says;
  // empty: as the chief says.
  std::string checkpoint_uri;
  std::string from;
  // That this process may use; 0: what its container may, or the machine has.
  uint64_t memory_bytes = 0;
  std::string zone;  // Empty: not known.
  double chief_deadline_seconds = 300;
  double restore_seconds = 600;  // From registration until start-up is over, if it serves nothing.
  double grace_seconds = 25;     // From SIGTERM until it leaves without the chief's consent.
};

// Serves until asked to stop: then OK. INVALID_ARGUMENT for impossible options, UNAVAILABLE for a
// port that is taken, DEADLINE_EXCEEDED if there is no chief.
absl::Status RunPs(const ProcessOptions& options);

// The number at the end of a StatefulSet's pod name. INVALID_ARGUMENT: there is none.
absl::StatusOr<int> OrdinalOf(const std::string& hostname);

}  // namespace capstan::ps

#endif  // CAPSTAN_PS_PROCESS_PS_PROCESS_H_
