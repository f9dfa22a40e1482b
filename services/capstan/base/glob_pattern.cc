#include "capstan/base/glob_pattern.h"

#include <glob.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "capstan/base/absl_view.h"
#include "capstan/base/status.h"

namespace capstan {
namespace {

// In brackets a backslash is doubled, because it may escape the next character there.
constexpr std::pair<char, std::string_view> kEscapes[] = {
    {'*', "[*]"}, {'?', "[?]"}, {'[', "[[]"}, {'\\', "[\\\\]"}};

bool IsRegularFile(const std::string& path) {
  struct stat info;
  return ::stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode);
}

// Why glob() could not list a folder. Thread-local, because glob() passes no argument to its
// callback. Without this the files of an unreadable folder would be omitted silently.
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

bool IsHidden(std::string_view pattern, std::string_view path) {
  // Names are compared beginning with the last one, as a pattern may have `file://` before its
  // path.
  while (true) {
    const size_t wanted_at = pattern.rfind('/') + 1;
    const size_t name_at = path.rfind('/') + 1;
    const std::string_view wanted = pattern.substr(wanted_at);
    const std::string_view name = path.substr(name_at);
    const bool any = wanted.starts_with('*') || wanted.starts_with('?');
    if (any && (name.starts_with('_') || name.starts_with('.'))) return true;
    if (wanted_at == 0 || name_at == 0) return false;
    pattern.remove_suffix(wanted.size() + 1);
    path.remove_suffix(name.size() + 1);
  }
}

absl::Status NothingMatches(std::string_view pattern, std::string_view what, size_t hidden) {
  std::string message(pattern);
  absl::StrAppend(&message, ": no ", AbslView(what), " matches");
  if (hidden > 0) {
    absl::StrAppend(&message, " but ", hidden,
                    " with a name that begins with _ or ., which patterns leave out");
  }
  return absl::NotFoundError(message);
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
  if (error == GLOB_NOMATCH) return NothingMatches(pattern, "file", 0);
  if (error != 0) return absl::UnavailableError(absl::StrCat(pattern, ": cannot be listed"));
  std::vector<std::string> paths(matches.gl_pathv, matches.gl_pathv + matches.gl_pathc);
  const size_t hidden =
      std::erase_if(paths, [&pattern](const std::string& path) { return IsHidden(pattern, path); });
  if (paths.empty()) return NothingMatches(pattern, "file", hidden);
  return paths;
}

}  // namespace capstan
