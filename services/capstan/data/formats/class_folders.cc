#include "capstan/data/formats/class_folders.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "capstan/base/glob_pattern.h"
#include "capstan/base/status.h"

namespace capstan {
namespace {

bool IsImageName(absl::string_view path) {
  return absl::EndsWithIgnoreCase(path, ".jpg") || absl::EndsWithIgnoreCase(path, ".jpeg") ||
         absl::EndsWithIgnoreCase(path, ".png");
}

// Any name that does not begin with a dot. Not `*`, which omits names that begin with `_`, as those
// of many cameras do (_DSC0001.jpg).
constexpr char kAnyName[] = "/[!.]*";

std::string WithoutSlash(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

}  // namespace

std::string_view ClassOf(std::string_view folder) { return folder.substr(folder.rfind('/') + 1); }

absl::StatusOr<std::vector<ClassFolder>> ListClasses(const Source& source,
                                                     const std::string& root) {
  const std::string folder = WithoutSlash(root);
  CAPSTAN_ASSIGN_OR_RETURN(const std::vector<FileInfo> files,
                           source.List(absl::StrCat(AsPattern(folder), kAnyName, kAnyName)));
  std::vector<ClassFolder> classes;
  for (const FileInfo& file : files) {
    if (!IsImageName(file.path)) continue;
    const std::string of = file.path.substr(0, file.path.rfind('/'));
    if (classes.empty() || classes.back().path != of) classes.push_back({of});
    ++classes.back().images;
    classes.back().bytes += file.bytes;
  }
  if (!classes.empty()) return classes;
  return absl::NotFoundError(
      absl::StrCat(root, ": its folders hold no images (files that end in .jpg, .jpeg or .png)"));
}

absl::StatusOr<std::vector<std::string>> ListImages(const Source& source,
                                                    const std::string& folder) {
  CAPSTAN_ASSIGN_OR_RETURN(const std::vector<FileInfo> files,
                           source.List(absl::StrCat(AsPattern(folder), kAnyName)));
  std::vector<std::string> paths;
  for (const FileInfo& file : files) {
    if (IsImageName(file.path)) paths.push_back(file.path);
  }
  return paths;
}

}  // namespace capstan
