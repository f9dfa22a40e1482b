// The folder of one run of a job, for logs and port files, and the place where a job is kept that
// has no checkpoint.uri.
#ifndef CAPSTAN_CLI_LOCAL_RUN_FOLDER_H_
#define CAPSTAN_CLI_LOCAL_RUN_FOLDER_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace capstan::cli {

// The folder of runs whose folder is not given, below the present folder.
inline constexpr char kRunsFolder[] = "capstan-runs";

class RunFolder {
 public:
  // Creates the folder `path`, or if `path` is empty a new one in kRunsFolder, and points
  // kRunsFolder/latest to it. path() is absolute.
  static absl::StatusOr<RunFolder> Make(const std::string& path, const std::string& job);

  const std::string& path() const { return path_; }
  std::string Log(const std::string& name) const { return path_ + "/" + name + ".log"; }
  std::string Ports(const std::string& name) const { return path_ + "/" + name + ".ports"; }
  // The checkpoint.uri for a job that has none: below the given path, or else kRunsFolder/jobs. It
  // is the same in the job's next run, which so goes on with the job.
  const std::string& jobs() const { return jobs_; }

  // Notes the folder in which the job of this run keeps its durable state, for `capstan status`.
  absl::Status NoteJob(const std::string& job_folder) const;

 private:
  RunFolder(std::string path, std::string jobs) : path_(std::move(path)), jobs_(std::move(jobs)) {}

  std::string path_;
  std::string jobs_;
};

// Returns the folder that the last run in the present folder has noted by NoteJob; empty: none.
std::string JobOfLastRun();

// <uri>/<job>
std::string JobFolder(const std::string& uri, const std::string& job);

// Returns the message of the last error among `lines` of a process's log; empty: there is none.
std::string LastError(const std::vector<std::string>& lines);

// Returns the last lines of a text file, at most `lines`; empty if the file cannot be read.
std::vector<std::string> LastLines(const std::string& path, int lines);

}  // namespace capstan::cli

#endif  // CAPSTAN_CLI_LOCAL_RUN_FOLDER_H_
