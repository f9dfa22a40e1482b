#include "capstan/checkpoint/checkpoint_list.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "capstan/base/status.h"
#include "capstan/checkpoint/checkpoint.h"
#include "capstan/checkpoint/checkpoint_names.h"
#include "capstan/checkpoint/checkpoint_reader.h"
#include "capstan/checkpoint/manifest.h"

namespace capstan {
namespace {

auto OrderOf(const ListedCheckpoint& checkpoint) {
  return std::make_tuple(checkpoint.status.ok(), checkpoint.manifest.timeline(),
                         checkpoint.manifest.step(), checkpoint.manifest.created_unix_seconds(),
                         checkpoint.id);
}

std::string ManifestKey(const std::string& id) {
  return absl::StrCat(id, "/", absl::string_view(kManifestName.data(), kManifestName.size()));
}

// Returns true if the store did not answer, so that nothing is known of the object.
bool IsAway(const absl::Status& status) {
  return !status.ok() && !absl::IsNotFound(status) && !absl::IsDataLoss(status) &&
         !absl::IsFailedPrecondition(status) && !absl::IsInvalidArgument(status);
}

using Sizes = std::map<std::string, uint64_t>;  // The sizes of a folder's objects, by name.

absl::StatusOr<v1::Manifest> ReadListed(ObjectStore& checkpoints, const std::string& id,
                                        const Sizes& sizes) {
  if (!sizes.contains(std::string(kManifestName))) return absl::NotFoundError("it has no manifest");
  const absl::StatusOr<std::string> text = checkpoints.Get(ManifestKey(id));
  if (absl::IsNotFound(text.status())) return absl::NotFoundError("it has no manifest");
  // Says something about the certificate, the bucket or the request, but nothing about the
  // manifest.
  if (absl::IsFailedPrecondition(text.status()) || absl::IsInvalidArgument(text.status())) {
    return absl::UnavailableError(text.status().message());
  }
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

// Checks that the chain of parents ends as required by CheckpointReader. REQUIRES: every parent in
// the chain is in `found`.
absl::Status CheckChain(const std::map<std::string, ListedCheckpoint>& found,
                        const ListedCheckpoint& checkpoint) {
  size_t links = 1;
  for (const ListedCheckpoint* link = &checkpoint; !link->manifest.parent().empty();) {
    link = &found.at(link->manifest.parent());
    if (link->id == checkpoint.id) {
      return absl::DataLossError(absl::StrCat("its parents lead back to it: the parent of ",
                                              checkpoint.id, " is ", checkpoint.manifest.parent()));
    }
    if (++links > CheckpointReader::kMaxChain) {
      return absl::DataLossError(absl::StrCat("it is the end of a chain of more than ",
                                              CheckpointReader::kMaxChain, " checkpoints"));
    }
  }
  return absl::OkStatus();
}

// Marks as damaged the checkpoints whose parent is missing or damaged, then those that build on
// them, and those whose chain of parents does not end.
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
  for (auto& [id, checkpoint] : found) {
    if (checkpoint.status.ok()) checkpoint.status = CheckChain(found, checkpoint);
  }
}

// The content of the folder: its folders with their objects, by the first name of each key, and the
// objects directly in it.
struct Contents {
  std::map<std::string, Sizes> folders;
  std::vector<std::string> objects;
};

absl::StatusOr<Contents> ReadContents(ObjectStore& checkpoints) {
  CAPSTAN_ASSIGN_OR_RETURN(const std::vector<ObjectInfo> objects, checkpoints.List(""));
  Contents contents;
  for (const ObjectInfo& object : objects) {
    const size_t slash = object.key.find('/');
    if (slash == std::string::npos) {
      contents.objects.push_back(object.key);
      continue;
    }
    contents.folders[object.key.substr(0, slash)][object.key.substr(slash + 1)] = object.bytes;
  }
  return contents;
}

std::string ForeignObjectIn(const Sizes& sizes) {
  for (const auto& [name, bytes] : sizes) {
    if (!IsCheckpointObject(name)) return name;
  }
  return "";
}

absl::StatusOr<ListedCheckpoint> ReadOne(ObjectStore& checkpoints, const std::string& id,
                                         const Sizes& sizes) {
  ListedCheckpoint checkpoint{.id = id, .foreign = ForeignObjectIn(sizes)};
  for (const auto& [name, bytes] : sizes) checkpoint.bytes += bytes;
  absl::StatusOr<v1::Manifest> manifest = ReadListed(checkpoints, id, sizes);
  checkpoint.status = manifest.status();
  if (IsAway(checkpoint.status)) return checkpoint.status;
  if (!manifest.ok()) return checkpoint;
  checkpoint.status = CheckSizes(*manifest, sizes);
  checkpoint.manifest = *std::move(manifest);
  return checkpoint;
}

// Returns true if the folder does not belong to Capstan and only happens to have a checkpoint's
// name: it has no intact manifest of any version, and contains an object that is not Capstan's.
bool IsForeign(const ListedCheckpoint& checkpoint) {
  const bool no_manifest = !checkpoint.status.ok() && checkpoint.manifest.files().empty() &&
                           !absl::IsFailedPrecondition(checkpoint.status);
  return no_manifest && !checkpoint.foreign.empty();
}

absl::Status CheckName(const std::string& id) {
  if (IsCheckpointName(id)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("\"", id, "\" is not named as a checkpoint is (<step>-<id>): it is left alone"));
}

}  // namespace

absl::StatusOr<CheckpointFolder> ReadCheckpointFolder(ObjectStore& checkpoints) {
  CAPSTAN_ASSIGN_OR_RETURN(const Contents contents, ReadContents(checkpoints));
  CheckpointFolder folder;
  for (const std::string& name : contents.objects) {
    folder.foreign.push_back({name, "it is no folder"});
  }
  std::map<std::string, ListedCheckpoint> found;
  for (const auto& [name, sizes] : contents.folders) {
    if (!IsCheckpointName(name)) {
      folder.foreign.push_back({name, "its name is not <step>-<id>"});
      continue;
    }
    CAPSTAN_ASSIGN_OR_RETURN(ListedCheckpoint checkpoint, ReadOne(checkpoints, name, sizes));
    if (IsForeign(checkpoint)) {
      folder.foreign.push_back({name, absl::StrCat("it holds ", checkpoint.foreign)});
      continue;
    }
    found.emplace(name, std::move(checkpoint));
  }
  CheckParents(found);
  for (auto& [id, checkpoint] : found) folder.checkpoints.push_back(std::move(checkpoint));
  std::sort(folder.checkpoints.begin(), folder.checkpoints.end(),
            [](const auto& a, const auto& b) { return OrderOf(a) < OrderOf(b); });
  std::sort(folder.foreign.begin(), folder.foreign.end(),
            [](const auto& a, const auto& b) { return a.name < b.name; });
  return folder;
}

absl::StatusOr<std::vector<ListedCheckpoint>> ListCheckpoints(ObjectStore& checkpoints) {
  CAPSTAN_ASSIGN_OR_RETURN(CheckpointFolder folder, ReadCheckpointFolder(checkpoints));
  return std::move(folder.checkpoints);
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
  for (size_t i = checkpoints.size(); i-- > 0;) {
    const ListedCheckpoint& checkpoint = checkpoints[i];
    const bool damaged = !checkpoint.status.ok() && !absl::IsNotFound(checkpoint.status);
    if (damaged || !checkpoint.foreign.empty() || kept.contains(checkpoint.id)) continue;
    prune.push_back(checkpoint.id);
  }
  return prune;
}

absl::Status GiveUpCheckpoint(ObjectStore& checkpoints, const std::string& id) {
  CAPSTAN_RETURN_IF_ERROR(CheckName(id));
  return checkpoints.PutIfAbsent(ManifestKey(id), "").status();
}

absl::Status DeleteCheckpoint(ObjectStore& checkpoints, const std::string& id) {
  CAPSTAN_RETURN_IF_ERROR(CheckName(id));
  CAPSTAN_ASSIGN_OR_RETURN(const std::vector<ObjectInfo> objects,
                           checkpoints.List(absl::StrCat(id, "/")));
  for (const ObjectInfo& object : objects) {
    if (IsCheckpointObject(object.key.substr(id.size() + 1))) continue;
    return absl::FailedPreconditionError(
        absl::StrCat(object.key, " is not Capstan's: nothing of ", id, " is deleted"));
  }
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

absl::Status DeleteUnfinished(ObjectStore& checkpoints, const std::string& id) {
  const absl::Status given_up = GiveUpCheckpoint(checkpoints, id);
  if (!given_up.ok() && !absl::IsAlreadyExists(given_up)) return given_up;
  CAPSTAN_ASSIGN_OR_RETURN(const ObjectInfo manifest, checkpoints.Stat(ManifestKey(id)));
  if (manifest.bytes == 0) return DeleteCheckpoint(checkpoints, id);
  return absl::AlreadyExistsError(absl::StrCat(id, " has been completed meanwhile: it stays"));
}

}  // namespace capstan
