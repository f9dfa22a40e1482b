// The folder of one run of a job: logs and port files. And where a job is kept that does not say.
#ifndef CAPSTAN_CLI_LOCAL_RUN_FOLDER_H_
#define CAPSTAN_CLI_LOCAL_RUN_FOLDER_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "capstan/objectstore/files.h"

namespace capstan::cli {

// Where runs go that are not told where; below the present folder.
inline constexpr char kRunsFolder[] = "capstan-runs";

// A run has its folder for itself: it is locked, by flock, as long as this object lives.
class RunFolder {
 public:
  // Makes the folder `path`, or a new one in kRunsFolder if it is empty, and points
  // kRunsFolder/latest to it. The path becomes absolute. INVALID_ARGUMENT: the folder cannot be
  // made. FAILED_PRECONDITION: another run lives in it.
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
  RunFolder(std::string path, std::string jobs, FileDescriptor lock)
      : path_(std::move(path)), jobs_(std::move(jobs)), lock_(std::move(lock)) {}

  std::string path_;
  std::string jobs_;
  FileDescriptor lock_;
};

// What the run of this folder has noted by NoteJob; empty: nothing, or it is no run's folder.
std::string JobOfRun(const std::string& run_folder);

// Returns whether the process that has made this folder of a run still lives. Where the file system
// has no locks, true as long as the folder is there.
bool IsRunAlive(const std::string& run_folder);

// <uri>/<job>
std::string JobFolder(const std::string& uri, const std::string& job);

// The message of the last of these lines of a process's log that tells an error; empty: none does.
std::string LastError(const std::vector<std::string>& lines);

// The last lines of a text file, at most `lines`; empty if it cannot be read.
std::vector<std::string> LastLines(const std::string& path, int lines);

}  // namespace capstan::cli

#endif  // CAPSTAN_CLI_LOCAL_RUN_FOLDER_H_
