// What a chief's process is told by its command line.
#ifndef CAPSTAN_CHIEF_SHELL_PROCESS_OPTIONS_H_
#define CAPSTAN_CHIEF_SHELL_PROCESS_OPTIONS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "capstan/process/service.h"

namespace capstan::chief {

struct ProcessOptions {
  std::string job;
  std::vector<std::string> overrides;
  uint32_t shards = 1;
  bool fresh = false;      // Start over, though the store holds the job.
  std::string fresh_once;  // Start over, unless that has been done under this name.
  std::string from;        // A checkpoint of another job to begin with.
  // The store holds the job with another configuration: it goes on as it was, and status and
  // metrics tell of the change, also of one made later. Otherwise the chief refuses to start.
  bool keep_job = false;
  // A job that cannot be led is no end: its status says why, on the ports of this process, and what
  // is given is looked at again when the job file has changed or, where that may help, after a
  // while.
  bool serve_refusal = false;
  bool take_over = false;  // Also from a chief that is at work on the job.
  std::string listen = "0.0.0.0:7000";
  std::string advertise;  // host:port that a later chief asks; empty: as `listen` says.
  ServiceOptions service;
  // Seconds that it serves on after SIGTERM for shards that were asked to stop as well, so that
  // they leave saved. 0: it leaves at once.
  double grace_seconds = 0;
  bool exit_when_done = false;
};

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_SHELL_PROCESS_OPTIONS_H_
