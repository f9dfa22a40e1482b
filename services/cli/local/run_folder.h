// The folder of one run of a job, for logs and port files, and the place where a job is kept that
// has no checkpoint.uri.
#ifndef CAPSTAN_CLI_LOCAL_RUN_FOLDER_H_
#define CAPSTAN_CLI_LOCAL_RUN_FOLDER_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "capstan/objectstore/files.h"

namespace capstan::cli {

// The folder of runs whose folder is not given, below the present folder.
inline constexpr char kRunsFolder[] = "capstan-runs";

// A run has its folder for itself: it is locked, by flock, as long as this object lives.
class RunFolder {
 public:
  // Creates the folder `path`, or if `path` is empty a new one in kRunsFolder, and points
  // kRunsFolder/latest to it. path() is absolute. INVALID_ARGUMENT: the folder cannot be
  // made. FAILED_PRECONDITION: another run lives in it.
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
  RunFolder(std::string path, std::string jobs, FileDescriptor lock)
      : path_(std::move(path)), jobs_(std::move(jobs)), lock_(std::move(lock)) {}

  std::string path_;
  std::string jobs_;
  FileDescriptor lock_;
};

// Returns the folder that the run in `run_folder` has noted by NoteJob; empty: none.
std::string JobOfRun(const std::string& run_folder);

// Returns whether the process that has made this folder of a run still lives. Where the file system
// has no locks, true as long as the folder is there.
bool IsRunAlive(const std::string& run_folder);

// <uri>/<job>
std::string JobFolder(const std::string& uri, const std::string& job);

// Returns the message of the last error among `lines` of a process's log; empty: there is none.
std::string LastError(const std::vector<std::string>& lines);

// Returns the last lines of a text file, at most `lines`; empty if the file cannot be read.
std::vector<std::string> LastLines(const std::string& path, int lines);

}  // namespace capstan::cli

#endif  // CAPSTAN_CLI_LOCAL_RUN_FOLDER_H_
