#include "cli/local/run_folder.h"

#include <algorithm>
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

namespace capstan::cli {
namespace {

namespace fs = std::filesystem;

constexpr char kJobNote[] = "job-folder";
// At most so many bytes at the end of a log are read.
constexpr std::streamoff kTailBytes = 64 << 10;

// Returns a path for a new run: kRunsFolder/<job>-<time>, with a count behind it if two runs begin
// in one second.
fs::path NewName(const std::string& job) {
  const std::string time = absl::FormatTime("%Y%m%d-%H%M%S", absl::Now(), absl::LocalTimeZone());
  const fs::path first = fs::path(kRunsFolder) / absl::StrCat(job, "-", time);
  fs::path path = first;
  std::error_code ignored;
  for (int n = 2; fs::exists(path, ignored); ++n) path = absl::StrCat(first.string(), "-", n);
  return path;
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
  const fs::path folder = fs::absolute(path.empty() ? NewName(job) : fs::path(path), error);
  if (!error) fs::create_directories(folder, error);
  if (error) {
    return absl::InvalidArgumentError(
        absl::StrCat("run folder ", folder.string(), ": ", error.message()));
  }
  // Removed, as port files of an earlier run in this folder would be taken for those of this run.
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    if (IsPortsFile(entry.path().filename().string())) fs::remove(entry.path(), error);
  }
  if (path.empty()) {
    const fs::path latest = fs::path(kRunsFolder) / "latest";
    fs::remove(latest, error);
    fs::create_directory_symlink(folder.filename(), latest, error);
  }
  return RunFolder(folder.string(), path.empty() ? (folder.parent_path() / "jobs").string()
                                                 : (folder / "model").string());
}

absl::Status RunFolder::NoteJob(const std::string& job_folder) const {
  std::ofstream file(path_ + "/" + kJobNote, std::ios::trunc);
  file << job_folder << "\n" << std::flush;
  if (file) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("run folder ", path_, ": cannot be written to"));
}

std::string JobOfLastRun() {
  std::ifstream file(fs::path(kRunsFolder) / "latest" / kJobNote);
  std::string folder;
  std::getline(file, folder);
  return folder;
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
