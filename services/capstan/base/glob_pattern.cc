#include "capstan/base/glob_pattern.h"

#include <glob.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "capstan/base/status.h"

namespace capstan {
namespace {

// In brackets a backslash is written twice, because it may escape the next character there.
constexpr std::pair<char, std::string_view> kEscapes[] = {
    {'*', "[*]"}, {'?', "[?]"}, {'[', "[[]"}, {'\\', "[\\\\]"}};

bool IsRegularFile(const std::string& path) {
  struct stat info;
  return ::stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode);
}

// Why glob() could not list a folder. Thread-local, because glob() passes no argument to its
// callback. Without this the files of a folder that may not be read would be left out silently.
thread_local absl::Status unlisted;

int NoteUnlisted(const char* path, int error) {
  // The pattern has a folder here, and there is none.
  if (error == ENOENT || error == ENOTDIR) return 0;
  const std::string what = absl::StrCat(path, ": cannot be listed: ", std::strerror(error));
  const bool forbidden = error == EACCES || error == EPERM;
  unlisted = forbidden ? absl::PermissionDeniedError(what) : absl::UnavailableError(what);
  return 1;  // Ends glob().
}

}  // namespace

std::string AsPattern(std::string_view path) {
  std::string pattern;
  for (const char c : path) {
    std::string_view written(&c, 1);
    for (const auto& [special, escape] : kEscapes) {
      if (c == special) written = escape;
    }
    pattern += written;
  }
  return pattern;
}

std::string WithoutEscapes(std::string_view pattern) {
  std::string path;
  while (!pattern.empty()) {
    size_t taken = 1;
    char meant = pattern.front();
    for (const auto& [special, escape] : kEscapes) {
      if (!pattern.starts_with(escape)) continue;
      taken = escape.size();
      meant = special;
    }
    path += meant;
    pattern.remove_prefix(taken);
  }
  return path;
}

absl::StatusOr<std::vector<std::string>> MatchingPaths(const std::string& pattern) {
  if (pattern.find_first_of(kGlobCharacters) == std::string::npos) {
    return std::vector<std::string>{pattern};
  }
  for (const std::string& path : {WithoutEscapes(pattern), pattern}) {
    if (IsRegularFile(path)) return std::vector<std::string>{path};
  }
  glob_t matches = {};
  absl::Cleanup free_matches = [&] { ::globfree(&matches); };
  unlisted = absl::OkStatus();
  const int error = ::glob(pattern.c_str(), 0, NoteUnlisted, &matches);  // Sorted.
  CAPSTAN_RETURN_IF_ERROR(std::exchange(unlisted, absl::OkStatus()));
  if (error == GLOB_NOMATCH) {
    return absl::NotFoundError(absl::StrCat(pattern, ": no file matches"));
  }
  if (error != 0) return absl::UnavailableError(absl::StrCat(pattern, ": cannot be listed"));
  return std::vector<std::string>(matches.gl_pathv, matches.gl_pathv + matches.gl_pathc);
}

}  // namespace capstan
