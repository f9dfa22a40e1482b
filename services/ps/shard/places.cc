#include "ps/shard/places.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace capstan::ps {
namespace {

// Returns `uri` without a leading "file://" and trailing slashes, which do not change the folder.
absl::string_view Plain(absl::string_view uri) {
  uri = absl::StripPrefix(uri, "file://");
  while (uri.size() > 1 && absl::ConsumeSuffix(&uri, "/")) {
  }
  return uri;
}

bool LeadsOut(absl::string_view path) {
  for (const absl::string_view part : absl::StrSplit(path, '/')) {
    if (part == "..") return true;
  }
  return false;
}

bool IsUnder(const std::string& uri, const std::string& folder) {
  const absl::string_view place = Plain(uri);
  const absl::string_view prefix = Plain(folder);
  if (prefix.empty() || !absl::StartsWith(place, prefix)) return false;
  const absl::string_view rest = place.substr(prefix.size());
  const bool ends_there = rest.empty() || rest.front() == '/' || prefix.back() == '/';
  return ends_there && !LeadsOut(rest);
}

absl::Status Refusal(absl::string_view what, const std::string& uri, const Places::Known& known) {
  return absl::PermissionDeniedError(absl::StrCat(
      what, " ", uri, ": this shard's checkpoints are under ",
      known.checkpoints.empty() ? "no folder" : known.checkpoints,
      "; the chief's checkpoint.uri and this shard's --checkpoint-uri, if it is given, are to be "
      "the same"));
}

}  // namespace

void Places::Learn(Known told) {
  absl::MutexLock lock(&mu_);
  if (fixed_.checkpoints.empty()) known_.checkpoints = std::move(told.checkpoints);
  if (fixed_.from.empty()) known_.from = std::move(told.from);
}

absl::Status Places::CheckWrite(const std::string& uri) const {
  absl::MutexLock lock(&mu_);
  return IsUnder(uri, known_.checkpoints) ? absl::OkStatus() : Refusal("writing to", uri, known_);
}

absl::Status Places::CheckRead(const std::string& uri) const {
  absl::MutexLock lock(&mu_);
  const bool known = IsUnder(uri, known_.checkpoints) || IsUnder(uri, known_.from);
  return known ? absl::OkStatus() : Refusal("reading from", uri, known_);
}

}  // namespace capstan::ps
