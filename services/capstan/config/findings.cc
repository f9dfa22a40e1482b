#include "capstan/config/findings.h"

#include <algorithm>
#include <span>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "capstan/base/quote.h"

namespace capstan {

void Findings::Refuse(const std::string& path, absl::string_view what) {
  std::string around = path;
  while (!around.empty() && !places_.contains(around)) {
    const size_t end = around.find_last_of(".[");
    around.resize(end == around.npos ? 0 : end);
  }
  const auto place = places_.find(around);
  RefuseAt(place == places_.end() ? name_ : place->second, path, what);
}

void Findings::RefuseAt(const std::string& place, const std::string& path, absl::string_view what) {
  std::string line = absl::StrCat(place, ": ");
  AppendEscaped(line, path);  // Escaped, as a path holds keys as they stand in the file.
  refusals_.push_back(absl::StrCat(line, path.empty() ? "" : ": ", what));
}

absl::Status Findings::status() const {
  if (refusals_.empty()) return absl::OkStatus();
  const size_t shown = std::min(refusals_.size(), kMaxShown);
  std::string lines = absl::StrJoin(refusals_.begin(), refusals_.begin() + shown, "\n");
  if (shown < refusals_.size()) {
    absl::StrAppend(&lines, "\n", name_, ": and ", refusals_.size() - shown, " more mistakes");
  }
  return absl::InvalidArgumentError(lines);
}

bool Findings::Place(const std::string& path, const std::string& place) {
  return places_.insert_or_assign(path, place).second;
}

void Findings::Ask(std::string path) {
  if (purpose_ == Purpose::kListKeys) keys_[path].key = path;
}

void Findings::Describe(JobKey key) {
  if (purpose_ != Purpose::kListKeys) return;
  JobKey& known = keys_[key.key];
  if (known.values.empty()) known = std::move(key);
}

void Findings::SetValues(const std::string& path, absl::string_view values) {
  if (purpose_ == Purpose::kListKeys) keys_[path].values = std::string(values);
}

void Findings::SetDefault(const std::string& path, absl::string_view default_value) {
  if (purpose_ == Purpose::kListKeys) keys_[path].default_value = std::string(default_value);
}

}  // namespace capstan
