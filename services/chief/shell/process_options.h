// The command line of a chief.
#ifndef CAPSTAN_CHIEF_SHELL_PROCESS_OPTIONS_H_
#define CAPSTAN_CHIEF_SHELL_PROCESS_OPTIONS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "capstan/process/service.h"
#include "chief/state/chief_options.h"

namespace capstan::chief {

struct ProcessOptions {
  std::string job;
  std::vector<std::string> overrides;
  uint32_t shards = 1;
  bool fresh = false;      // Start over, even if the store holds the job.
  std::string fresh_once;  // Start over, unless the job was already started over under this name.
  std::string from;        // A checkpoint of another job to begin with.
  // If the store holds the job with another configuration, the job continues unchanged, and status
  // and metrics report the change, also one made later. False: the chief refuses to start.
  bool keep_job = false;
  // If the job cannot be run, the process stays: its status says why, and it tries again when the
  // job file has changed or, if the cause may be temporary, after a while. False: it exits.
  bool serve_refusal = false;
  bool take_over = false;  // Take the job even from a chief that is still at work on it.
  UnnumberedShards unnumbered_shards = UnnumberedShards::kUntilNumbered;
  std::string listen = "0.0.0.0:7000";
  std::string advertise;  // host:port at which a later chief reaches this one; empty: see `listen`.
  ServiceOptions service;
  // How long the chief continues after SIGTERM for shards that were asked to stop as well, so that
  // they are saved before they leave. 0: it ends at once.
  double grace_seconds = 0;
  bool exit_when_done = false;
};

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_SHELL_PROCESS_OPTIONS_H_
