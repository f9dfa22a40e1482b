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

// Nothing is said of what stands there.
bool IsAway(const absl::Status& status) {
  return !status.ok() && !absl::IsNotFound(status) && !absl::IsDataLoss(status) &&
         !absl::IsFailedPrecondition(status) && !absl::IsInvalidArgument(status);
}

using Sizes = std::map<std::string, uint64_t>;  // Of a folder's objects, by name.

absl::StatusOr<v1::Manifest> ReadListed(ObjectStore& checkpoints, const std::string& id) {
  const absl::StatusOr<std::string> text = checkpoints.Get(ManifestKey(id));
  if (absl::IsNotFound(text.status())) return absl::NotFoundError("it has no manifest");
  CAPSTAN_RETURN_IF_ERROR(text.status());
  if (text->empty()) return absl::NotFoundError("it has been given up");
  return ParseManifest(*text);
}

absl::Status CheckSizes(const v1::Manifest& manifest, const Sizes& sizes) {
  for (const v1::SavedFile& file : manifest.files()) {
    const auto found = sizes.find(file.name());
    if (found == sizes.end()) return absl::DataLossError(absl::StrCat(file.name(), " is missing"));
    CAPSTAN_RETURN_IF_ERROR(CheckObjectBytes(file, found->second));
  }
  return absl::OkStatus();
}

// A parent has a lower step, or is of an earlier attempt; what names itself ends nowhere.
void CheckParents(std::map<std::string, ListedCheckpoint>& found) {
  for (bool changed = true; changed;) {
    changed = false;
    for (auto& [id, checkpoint] : found) {
      if (!checkpoint.status.ok() || checkpoint.manifest.parent().empty()) continue;
      const auto parent = found.find(checkpoint.manifest.parent());
      if (parent != found.end() && parent->second.status.ok()) continue;
      checkpoint.status = absl::DataLossError(
          absl::StrCat("its parent ", checkpoint.manifest.parent(), " is missing or damaged"));
      changed = true;
    }
  }
}

}  // namespace

absl::StatusOr<std::vector<ListedCheckpoint>> ListCheckpoints(ObjectStore& checkpoints) {
  CAPSTAN_ASSIGN_OR_RETURN(const std::vector<ObjectInfo> objects, checkpoints.List(""));
  std::map<std::string, ListedCheckpoint> found;
  std::map<std::string, Sizes> sizes;
  for (const ObjectInfo& object : objects) {
    const size_t slash = object.key.find('/');
    if (slash == std::string::npos) continue;
    const std::string id = object.key.substr(0, slash);
    found[id].bytes += object.bytes;
    sizes[id][object.key.substr(slash + 1)] = object.bytes;
  }
  for (auto& [id, checkpoint] : found) {
    checkpoint.id = id;
    absl::StatusOr<v1::Manifest> manifest = ReadListed(checkpoints, id);
    checkpoint.status = manifest.status();
    if (IsAway(checkpoint.status)) return checkpoint.status;
    if (!manifest.ok()) continue;
    checkpoint.status = CheckSizes(*manifest, sizes[id]);
    checkpoint.manifest = *std::move(manifest);
  }
  CheckParents(found);
  std::vector<ListedCheckpoint> list;
  for (auto& [id, checkpoint] : found) list.push_back(std::move(checkpoint));
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

absl::Status GiveUpCheckpoint(ObjectStore& checkpoints, const std::string& id) {
  return checkpoints.PutIfAbsent(ManifestKey(id), "").status();
}

absl::Status DeleteCheckpoint(ObjectStore& checkpoints, const std::string& id) {
  CAPSTAN_ASSIGN_OR_RETURN(const std::vector<ObjectInfo> objects,
                           checkpoints.List(absl::StrCat(id, "/")));
  const ObjectInfo given_up{ManifestKey(id), 0};
  const bool keep =
      objects.size() > 1 && std::find(objects.begin(), objects.end(), given_up) != objects.end();
  if (!keep) CAPSTAN_RETURN_IF_ERROR(checkpoints.Delete(ManifestKey(id)));
  for (const ObjectInfo& object : objects) {
    if (object == given_up) continue;
    CAPSTAN_RETURN_IF_ERROR(checkpoints.Delete(object.key));
  }
  return absl::OkStatus();
}

}  // namespace capstan
