// The job file of a chief that keeps its job whatever becomes of the file: it is looked at again
// and again, so that people hear of a change that is not taken up.
#ifndef CAPSTAN_CHIEF_SHELL_JOB_WATCH_H_
#define CAPSTAN_CHIEF_SHELL_JOB_WATCH_H_

#include <functional>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "capstan/v1/job.pb.h"

namespace capstan::chief {

// What a job file holds; nothing: it cannot be read now.
std::optional<std::string> ContentOf(const std::string& path);

// Thread-compatible.
class JobWatch {
 public:
  // `read` makes the settings of the file at `path`. `data_note`: what is to be told of the data.
  using Read = std::function<absl::StatusOr<v1::JobSpec>()>;
  JobWatch(std::string path, Read read, v1::JobSpec running, std::string data_note = "");

  // JobChange of the file and the data's note, if its content is another than at the last look (at
  // the first one, in any case); nothing: it is the same, or cannot be read now, and will be looked
  // at again. May take as long as its data's store does.
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
