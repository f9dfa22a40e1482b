#include "capstan/config/data_files.h"

#include <unistd.h>

#include <filesystem>
#include <set>
#include <string>
#include <system_error>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "capstan/base/glob_pattern.h"
#include "capstan/config/eval_sets.h"
#include "capstan/config/spelling.h"

namespace capstan {
namespace {

constexpr size_t kMaxShownPath = 500;
constexpr absl::string_view kFileScheme = "file://";

void Join(const std::string& folder, std::string& path) {
  if (path.empty() || absl::StrContains(path, "://")) return;
  path = (std::filesystem::path(folder) / path).lexically_normal().string();
}

// Returns whether the paths of data.train and data.eval may be patterns. Folders of images, and the
// files that all other keys name, are never patterns.
bool HasPatterns(const v1::DataSpec& data) { return data.format() != v1::DATA_FORMAT_FOLDER; }

struct NamedData {
  std::string key;  // The key that names the data.
  absl::string_view path;
  bool pattern = false;  // The path is a pattern.
  bool folder = false;   // The path must be a folder, not a file.
};

void CheckPath(const NamedData& named, const std::string& path, Findings& findings) {
  const std::string shown = Shown(path, kMaxShownPath);
  std::error_code ignored;
  if (!std::filesystem::exists(std::filesystem::symlink_status(path, ignored))) {
    findings.Refuse(named.key, absl::StrCat("no file matches ", shown));
  } else if (std::filesystem::is_directory(path, ignored) != named.folder) {
    findings.Refuse(named.key, absl::StrCat(shown, named.folder ? " is a file, not a folder"
                                                                : " is a folder, not a file"));
  } else if (access(path.c_str(), R_OK) != 0) {
    findings.Refuse(named.key, absl::StrCat(shown, " cannot be read"));
  }
}

void Check(NamedData named, Findings& findings) {
  absl::ConsumePrefix(&named.path, kFileScheme);
  if (IsObjectAddress(named.path)) return;  // Objects are looked for when the job is planned.
  const std::string shown = Shown(named.path, kMaxShownPath);
  if (absl::StrContains(named.path, "://")) {
    findings.Refuse(
        named.key,
        absl::StrCat(shown, " is not supported; expected local files or s3://bucket/name"));
    return;
  }
  const std::string path(named.path);
  if (!named.pattern) {
    CheckPath(named, path, findings);
    return;
  }
  const absl::StatusOr<std::vector<std::string>> matches = MatchingPaths(path);
  if (absl::IsNotFound(matches.status())) {
    // What the message says after its pattern: whether hidden names match.
    const absl::string_view rest =
        absl::StripPrefix(matches.status().message(), absl::StrCat(path, ": no file matches"));
    findings.Refuse(named.key, absl::StrCat("no file matches ", shown, rest));
  } else if (!matches.ok()) {
    findings.Refuse(named.key, std::string(matches.status().message()));
  }
  if (!matches.ok()) return;
  for (const std::string& match : *matches) CheckPath(named, match, findings);
}

}  // namespace

bool IsObjectAddress(absl::string_view uri) {
  if (!absl::ConsumePrefix(&uri, "s3://")) return false;
  const size_t slash = uri.find('/');
  return slash != uri.npos && slash > 0 && slash + 1 < uri.size();
}

void ResolvePaths(const std::string& folder, v1::JobSpec& spec) {
  v1::DataSpec& data = *spec.mutable_data();
  const std::string data_folder = HasPatterns(data) ? AsPattern(folder) : folder;
  for (std::string& path : *data.mutable_train()) Join(data_folder, path);
  for (std::string& path : *data.mutable_eval()) Join(data_folder, path);
  if (data.has_negatives()) Join(folder, *data.mutable_negatives()->mutable_file());
  for (v1::ColumnSpec& column : *data.mutable_numeric()) Join(folder, *column.mutable_file());
  for (v1::FeatureSpec& feature : *data.mutable_features()) {
    if (feature.has_vocabulary()) Join(folder, *feature.mutable_vocabulary()->mutable_file());
  }
  Join(folder, *spec.mutable_checkpoint()->mutable_uri());
}

void CheckDataFiles(const v1::JobSpec& spec, Findings& findings) {
  const v1::DataSpec& data = spec.data();
  const bool patterns = HasPatterns(data);
  const auto check_records = [&](const std::string& key, const std::string& path) {
    Check({.key = key, .path = path, .pattern = patterns, .folder = !patterns}, findings);
  };
  for (const std::string& path : data.train()) check_records("data.train", path);
  for (const EvalFiles& set : EvalSetsOf(data)) {
    const std::string key = absl::StrCat("data.eval", set.name.empty() ? "" : ".", set.name);
    for (const std::string& path : set.files) check_records(key, path);
  }
  const std::string& candidates = data.negatives().file();
  if (!candidates.empty()) Check({.key = "data.negatives.file", .path = candidates}, findings);
  std::set<std::string> measures;  // Several columns may name the same file.
  for (const v1::ColumnSpec& column : data.numeric()) {
    const std::string& file = column.file();
    if (file.empty() || !measures.insert(file).second) continue;
    Check({.key = "data.schema.numeric[].file", .path = file}, findings);
  }
  for (const v1::FeatureSpec& feature : data.features()) {
    const std::string& texts = feature.vocabulary().file();
    if (texts.empty()) continue;
    Check({.key = absl::StrCat("data.features.", feature.name(), ".file"), .path = texts},
          findings);
  }
}

}  // namespace capstan
