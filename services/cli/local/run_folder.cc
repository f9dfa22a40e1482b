#include "cli/local/run_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "capstan/base/status.h"

namespace capstan::cli {
namespace {

namespace fs = std::filesystem;

constexpr char kJobNote[] = "job-folder";
// At most so many bytes at the end of a log are read.
constexpr std::streamoff kTailBytes = 64 << 10;

// Somebody who looks whether the run lives holds the lock for a moment.
constexpr absl::Duration kLockPatience = absl::Seconds(1);
constexpr absl::Duration kLockPause = absl::Milliseconds(10);

// Makes kRunsFolder/<job>-<time>, with a count behind it where several begin in one second.
fs::path MakeNew(const std::string& job, std::error_code& error) {
  fs::create_directories(kRunsFolder, error);
  const std::string time = absl::FormatTime("%Y%m%d-%H%M%S", absl::Now(), absl::LocalTimeZone());
  const fs::path first = fs::path(kRunsFolder) / absl::StrCat(job, "-", time);
  fs::path path = first;
  for (int n = 2; !error && !fs::create_directory(path, error); ++n) {
    if (!error) path = absl::StrCat(first.string(), "-", n);  // Another run has made it.
  }
  return fs::absolute(path);
}

fs::path MakeGiven(const std::string& path, std::error_code& error) {
  const fs::path folder = fs::absolute(path);
  fs::create_directories(folder, error);
  return folder;
}

FileDescriptor OpenForLock(const std::string& folder) {
  return FileDescriptor(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

// A file system without locks has none to be refused.
absl::StatusOr<FileDescriptor> Lock(const std::string& folder) {
  FileDescriptor lock = OpenForLock(folder);
  if (!lock.valid()) return SystemError(folder, errno);
  const absl::Time deadline = absl::Now() + kLockPatience;
  while (flock(lock.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    if (absl::Now() >= deadline) {
      return absl::FailedPreconditionError(absl::StrCat(
          "run folder ", folder,
          ": another `capstan train` is at work in it; say another --run-dir, or none"));
    }
    absl::SleepFor(kLockPause);
  }
  return lock;
}

// In one step, so that there always is a latest one.
void PointLatestTo(const fs::path& folder) {
  const fs::path runs = folder.parent_path();
  const fs::path made = runs / absl::StrCat(".latest-", getpid(), "-", folder.filename().string());
  std::error_code ignored;
  fs::create_directory_symlink(folder.filename(), made, ignored);
  fs::rename(made, runs / "latest", ignored);
}

// Returns whether a process of a run writes a port file of this name: chief.ports, ps-0.ports,
// worker-12.ports.
bool IsPortsFile(absl::string_view name) {
  if (!absl::ConsumeSuffix(&name, ".ports")) return false;
  if (name == "chief") return true;
  uint32_t number = 0;
  return (absl::ConsumePrefix(&name, "ps-") || absl::ConsumePrefix(&name, "worker-")) &&
         absl::SimpleAtoi(name, &number);
}

}  // namespace

absl::StatusOr<RunFolder> RunFolder::Make(const std::string& path, const std::string& job) {
  std::error_code error;
  const fs::path folder = path.empty() ? MakeNew(job, error) : MakeGiven(path, error);
  if (error) {
    return absl::InvalidArgumentError(
        absl::StrCat("run folder ", folder.string(), ": ", error.message()));
  }
  CAPSTAN_ASSIGN_OR_RETURN(FileDescriptor lock, Lock(folder.string()));
  // Removed, as port files of an earlier run in this folder would be taken for those of this run.
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    if (IsPortsFile(entry.path().filename().string())) fs::remove(entry.path(), error);
  }
  if (path.empty()) PointLatestTo(folder);
  const fs::path jobs = path.empty() ? folder.parent_path() / "jobs" : folder / "model";
  return RunFolder(folder.string(), jobs.string(), std::move(lock));
}

absl::Status RunFolder::NoteJob(const std::string& job_folder) const {
  std::ofstream file(path_ + "/" + kJobNote, std::ios::trunc);
  file << job_folder << "\n" << std::flush;
  if (file) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("run folder ", path_, ": cannot be written to"));
}

std::string JobOfRun(const std::string& run_folder) {
  std::ifstream file(fs::path(run_folder) / kJobNote);
  std::string folder;
  std::getline(file, folder);
  return folder;
}

bool IsRunAlive(const std::string& run_folder) {
  const FileDescriptor folder = OpenForLock(run_folder);
  return folder.valid() && flock(folder.get(), LOCK_SH | LOCK_NB) != 0;
}

std::string JobFolder(const std::string& uri, const std::string& job) {
  return absl::StrCat(absl::StripSuffix(uri, "/"), "/", job);
}

std::string LastError(const std::vector<std::string>& lines) {
  std::string error;
  for (auto line = lines.rbegin(); line != lines.rend(); ++line) {
    // "<time> error <role> <message>", see capstan/base/log.h.
    const std::vector<std::string> words = absl::StrSplit(*line, absl::MaxSplits(' ', 3));
    const bool tells = words.size() == 4 && words[1] == "error";
    if (!tells && !error.empty()) break;
    if (!tells) continue;
    // An error line that ends with a colon introduces the errors behind it, so it is put in front
    // of the last error.
    const bool head = words[3].ends_with(':');
    if (error.empty() || head) error = absl::StrCat(words[3], error.empty() ? "" : " ", error);
    if (head) break;
  }
  return error;
}

std::vector<std::string> LastLines(const std::string& path, int lines) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) return {};
  file.seekg(std::max<std::streamoff>(0, std::streamoff{file.tellg()} - kTailBytes));
  const std::string tail{std::istreambuf_iterator<char>(file), {}};
  std::vector<std::string> all = absl::StrSplit(tail, '\n', absl::SkipWhitespace());
  if (static_cast<int>(all.size()) > lines) all.erase(all.begin(), all.end() - lines);
  return all;
}

}  // namespace capstan::cli
