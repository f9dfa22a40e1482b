#include "capstan/checkpoint/checkpoint_list.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "capstan/base/status.h"
#include "capstan/checkpoint/checkpoint.h"
#include "capstan/checkpoint/manifest.h"

namespace capstan {
namespace {

auto OrderOf(const ListedCheckpoint& checkpoint) {
  return std::make_tuple(checkpoint.status.ok(), checkpoint.manifest.step(),
                         checkpoint.manifest.created_unix_seconds(), checkpoint.id);
}

std::string ManifestKey(const std::string& id) {
  return absl::StrCat(id, "/", absl::string_view(kManifestName.data(), kManifestName.size()));
}

}  // namespace

absl::StatusOr<std::vector<ListedCheckpoint>> ListCheckpoints(ObjectStore& checkpoints) {
  CAPSTAN_ASSIGN_OR_RETURN(const std::vector<ObjectInfo> objects, checkpoints.List(""));
  std::map<std::string, ListedCheckpoint> found;
  for (const ObjectInfo& object : objects) {
    const size_t slash = object.key.find('/');
    if (slash == std::string::npos) continue;
    ListedCheckpoint& checkpoint = found[object.key.substr(0, slash)];
    checkpoint.bytes += object.bytes;
  }
  std::vector<ListedCheckpoint> list;
  for (auto& [id, checkpoint] : found) {
    checkpoint.id = id;
    absl::StatusOr<std::string> text = checkpoints.Get(ManifestKey(id));
    if (text.ok()) {
      absl::StatusOr<v1::Manifest> manifest = ParseManifest(*text);
      checkpoint.status = manifest.status();
      if (manifest.ok()) checkpoint.manifest = *std::move(manifest);
    } else if (absl::IsNotFound(text.status())) {
      checkpoint.status = absl::NotFoundError("it has no manifest");
    } else {
      return text.status();
    }
    list.push_back(std::move(checkpoint));
  }
  std::sort(list.begin(), list.end(),
            [](const auto& a, const auto& b) { return OrderOf(a) < OrderOf(b); });
  return list;
}

std::vector<std::string> CheckpointsToPrune(absl::Span<const ListedCheckpoint> checkpoints,
                                            size_t keep, const std::set<std::string>& exempt) {
  std::map<std::string, const ListedCheckpoint*> whole;
  std::vector<std::string> wanted(exempt.begin(), exempt.end());
  for (size_t i = checkpoints.size(); i-- > 0;) {
    if (!checkpoints[i].status.ok()) continue;
    if (whole.size() < keep) wanted.push_back(checkpoints[i].id);
    whole[checkpoints[i].id] = &checkpoints[i];
  }
  std::set<std::string> kept;
  while (!wanted.empty()) {
    const std::string id = std::move(wanted.back());
    wanted.pop_back();
    const auto found = whole.find(id);
    if (!kept.insert(id).second || found == whole.end()) continue;
    if (const std::string& parent = found->second->manifest.parent(); !parent.empty()) {
      wanted.push_back(parent);
    }
  }
  std::vector<std::string> prune;
  for (const ListedCheckpoint& checkpoint : checkpoints) {
    const bool damaged = !checkpoint.status.ok() && !absl::IsNotFound(checkpoint.status);
    if (!damaged && !kept.contains(checkpoint.id)) prune.push_back(checkpoint.id);
  }
  return prune;
}

absl::Status DeleteCheckpoint(ObjectStore& checkpoints, const std::string& id) {
  CAPSTAN_RETURN_IF_ERROR(checkpoints.Delete(ManifestKey(id)));
  CAPSTAN_ASSIGN_OR_RETURN(const std::vector<ObjectInfo> objects,
                           checkpoints.List(absl::StrCat(id, "/")));
  for (const ObjectInfo& object : objects) {
    CAPSTAN_RETURN_IF_ERROR(checkpoints.Delete(object.key));
  }
  return absl::OkStatus();
}

}  // namespace capstan
