// The folder of one run of a job: logs and port files. And where a job is kept that does not say.
#ifndef CAPSTAN_CLI_LOCAL_RUN_FOLDER_H_
#define CAPSTAN_CLI_LOCAL_RUN_FOLDER_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace capstan::cli {

// Where runs go that are not told where; below the present folder.
inline constexpr char kRunsFolder[] = "capstan-runs";

class RunFolder {
 public:
  // Makes the folder `path`, or a new one in kRunsFolder if it is empty, and points
  // kRunsFolder/latest to it. The path becomes absolute.
  static absl::StatusOr<RunFolder> Make(const std::string& path, const std::string& job);

  const std::string& path() const { return path_; }
  std::string Log(const std::string& name) const { return path_ + "/" + name + ".log"; }
  std::string Ports(const std::string& name) const { return path_ + "/" + name + ".ports"; }
  // checkpoint.uri of a job that has none: the same for its next run, which so goes on with it.
  // Below a path that was given, or else kRunsFolder/jobs.
  const std::string& jobs() const { return jobs_; }

  // Notes in which folder the job of this run keeps what is durable of it, for `capstan status`.
  absl::Status NoteJob(const std::string& job_folder) const;

 private:
  RunFolder(std::string path, std::string jobs) : path_(std::move(path)), jobs_(std::move(jobs)) {}

  std::string path_;
  std::string jobs_;
};

// What the last run of the present folder has noted by NoteJob; empty: nothing.
std::string JobOfLastRun();

// <uri>/<job>
std::string JobFolder(const std::string& uri, const std::string& job);

// The message of the last of these lines of a process's log that tells an error; empty: none does.
std::string LastError(const std::vector<std::string>& lines);

// The last lines of a text file, at most `lines`; empty if it cannot be read.
std::vector<std::string> LastLines(const std::string& path, int lines);

}  // namespace capstan::cli

#endif  // CAPSTAN_CLI_LOCAL_RUN_FOLDER_H_
