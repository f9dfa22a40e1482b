// Watches the job file of a chief that continues its job even if the file changes, so that people
// hear of changes that are not applied.
#ifndef CAPSTAN_CHIEF_SHELL_JOB_WATCH_H_
#define CAPSTAN_CHIEF_SHELL_JOB_WATCH_H_

#include <functional>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "capstan/v1/job.pb.h"

namespace capstan::chief {

// Returns the content of a job file; nullopt if it cannot be read now.
std::optional<std::string> ContentOf(const std::string& path);

// Thread-compatible.
class JobWatch {
 public:
  // `read` parses the settings of the file at `path`. `data_note` is added to what is said of the
  // file's changes.
  using Read = std::function<absl::StatusOr<v1::JobSpec>()>;
  JobWatch(std::string path, Read read, v1::JobSpec running, std::string data_note = "");

  // Returns the JobChange of the file, followed by the note, if the content of the file has changed
  // since the last call, and in the first call. Returns nullopt if the content is the same, or if
  // it cannot be read or parsed for now: the next call tries again. May have to wait for the store
  // of the job's data.
  std::optional<std::string> Look();

 private:
  const std::string path_;
  const Read read_;
  const v1::JobSpec running_;
  const std::string data_note_;
  std::optional<std::string> seen_;
};

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_SHELL_JOB_WATCH_H_
