#include "capstan/config/data_files.h"

#include <glob.h>
#include <unistd.h>

#include <filesystem>
#include <set>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "capstan/config/eval_sets.h"
#include "capstan/config/spelling.h"

namespace capstan {
namespace {

constexpr size_t kMaxShownPath = 500;
constexpr absl::string_view kFileScheme = "file://";

void Resolve(const std::string& folder, std::string& path) {
  if (path.empty() || absl::StrContains(path, "://")) return;
  path = (std::filesystem::path(folder) / path).lexically_normal().string();
}

// `folders`: the data are folders, and not files.
void CheckPattern(const std::string& key, absl::string_view pattern, bool folders,
                  Findings& findings) {
  absl::ConsumePrefix(&pattern, kFileScheme);
  if (IsObjectAddress(pattern)) return;  // Whoever plans the job looks there.
  if (pattern.find("://") != pattern.npos) {
    findings.Refuse(key,
                    absl::StrCat(Shown(pattern, kMaxShownPath),
                                 " is not supported; expected local files or s3://bucket/name"));
    return;
  }
  glob_t found = {};
  const int error = glob(std::string(pattern).c_str(), GLOB_NOSORT | GLOB_BRACE, nullptr, &found);
  if (error != 0)
    findings.Refuse(key, absl::StrCat("no file matches ", Shown(pattern, kMaxShownPath)));
  for (size_t i = 0; i < found.gl_pathc; ++i) {
    if (std::filesystem::is_directory(found.gl_pathv[i]) != folders) {
      findings.Refuse(
          key, absl::StrCat(Shown(found.gl_pathv[i], kMaxShownPath),
                            folders ? " is a file, not a folder" : " is a folder, not a file"));
    } else if (access(found.gl_pathv[i], R_OK) != 0) {
      findings.Refuse(key,
                      absl::StrCat(Shown(found.gl_pathv[i], kMaxShownPath), " cannot be read"));
    }
  }
  globfree(&found);
}

}  // namespace

bool IsObjectAddress(absl::string_view uri) {
  if (!absl::ConsumePrefix(&uri, "s3://")) return false;
  const size_t slash = uri.find('/');
  return slash != uri.npos && slash > 0 && slash + 1 < uri.size();
}

void ResolvePaths(const std::string& folder, v1::JobSpec& spec) {
  for (std::string& path : *spec.mutable_data()->mutable_train()) Resolve(folder, path);
  for (std::string& path : *spec.mutable_data()->mutable_eval()) Resolve(folder, path);
  if (spec.data().has_negatives()) {
    Resolve(folder, *spec.mutable_data()->mutable_negatives()->mutable_file());
  }
  for (v1::ColumnSpec& column : *spec.mutable_data()->mutable_numeric()) {
    Resolve(folder, *column.mutable_file());
  }
  for (v1::FeatureSpec& feature : *spec.mutable_data()->mutable_features()) {
    if (!feature.has_vocabulary()) continue;
    Resolve(folder, *feature.mutable_vocabulary()->mutable_file());
  }
  Resolve(folder, *spec.mutable_checkpoint()->mutable_uri());
}

void CheckDataFiles(const v1::JobSpec& spec, Findings& findings) {
  const bool folders = spec.data().format() == v1::DATA_FORMAT_FOLDER;
  for (const std::string& path : spec.data().train()) {
    CheckPattern("data.train", path, folders, findings);
  }
  for (const EvalFiles& set : EvalSetsOf(spec.data())) {
    const std::string key = absl::StrCat("data.eval", set.name.empty() ? "" : ".", set.name);
    for (const std::string& path : set.files) CheckPattern(key, path, folders, findings);
  }
  const std::string& candidates = spec.data().negatives().file();
  if (!candidates.empty()) {
    CheckPattern("data.negatives.file", candidates, /*folders=*/false, findings);
  }
  std::set<std::string> measures;  // One file has those of many columns.
  for (const v1::ColumnSpec& column : spec.data().numeric()) {
    const std::string& file = column.file();
    if (file.empty() || !measures.insert(file).second) continue;
    CheckPattern("data.schema.numeric[].file", file, /*folders=*/false, findings);
  }
  for (const v1::FeatureSpec& feature : spec.data().features()) {
    const std::string& texts = feature.vocabulary().file();
    if (texts.empty()) continue;
    CheckPattern(absl::StrCat("data.features.", feature.name(), ".file"), texts, /*folders=*/false,
                 findings);
  }
}

}  // namespace capstan
