// The folder of one run of a job: logs, port files and, unless the job says otherwise, the model.
#ifndef CAPSTAN_CLI_RUN_FOLDER_H_
#define CAPSTAN_CLI_RUN_FOLDER_H_

#include <string>
#include <vector>

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
  std::string Model() const { return path_ + "/model"; }

 private:
  explicit RunFolder(std::string path) : path_(std::move(path)) {}

  std::string path_;
};

// The last lines of a text file, at most `lines`; empty if it cannot be read.
std::vector<std::string> LastLines(const std::string& path, int lines);

}  // namespace capstan::cli

#endif  // CAPSTAN_CLI_RUN_FOLDER_H_
