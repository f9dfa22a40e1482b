#include "chief/shell/job_store.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "capstan/base/failpoint.h"
#include "capstan/base/status.h"
#include "capstan/checkpoint/sealed_json.h"
#include "capstan/checkpoint/state_format.h"

namespace capstan::chief {
namespace {

constexpr char kState[] = "state/chief.json";
constexpr char kModel[] = "state/model.json";

std::string TasksKey(uint64_t fingerprint) {
  return absl::StrFormat("state/tasks-%016x.json", fingerprint);
}

std::string ListingKey(uint64_t fingerprint) {
  return absl::StrFormat("state/listing-%016x.txt", fingerprint);
}

// Returns the hash of a listing; 0 if the text has none.
uint64_t ListingOfText(const std::string& text) {
  uint64_t listing = 0;
  return absl::SimpleHexAtoi(text, &listing) ? listing : 0;
}

}  // namespace

std::string JobStore::FolderUri(const std::string& uri, const std::string& job) {
  return absl::StrCat(absl::StripSuffix(uri, "/"), "/", job);
}

absl::StatusOr<std::unique_ptr<JobStore>> JobStore::Open(const std::string& uri,
                                                         const std::string& job) {
  const std::string folder = FolderUri(uri, job);
  CAPSTAN_ASSIGN_OR_RETURN(std::unique_ptr<ObjectStore> state, OpenObjectStore(folder));
  CAPSTAN_ASSIGN_OR_RETURN(std::unique_ptr<ObjectStore> checkpoints,
                           OpenObjectStore(folder + "/checkpoints"));
  return std::make_unique<JobStore>(std::move(state), std::move(checkpoints));
}

absl::StatusOr<std::optional<v1::ChiefState>> JobStore::ReadState() {
  version_.reset();
  absl::StatusOr<Object> object = folder_->GetWithVersion(kState);
  if (absl::IsNotFound(object.status())) return std::nullopt;
  CAPSTAN_RETURN_IF_ERROR(object.status());
  v1::ChiefState state;
  version_ = object->version;
  CAPSTAN_RETURN_IF_ERROR(OpenSealedJson(kState, object->bytes, state));
  CAPSTAN_RETURN_IF_ERROR(CheckStateFormat(kState, state, "chief"));
  return state;
}

absl::Status JobStore::WriteState(const v1::ChiefState& state) {
  CAPSTAN_ASSIGN_OR_RETURN(const std::string text, SealJson(state));
  CAPSTAN_RETURN_IF_ERROR(CAPSTAN_FAILPOINT_STATUS("state.write"));
  absl::StatusOr<ObjectVersion> written =
      version_ ? folder_->PutIfMatch(kState, text, *version_) : folder_->PutIfAbsent(kState, text);
  if (written.ok()) {
    version_ = *std::move(written);
    CAPSTAN_RETURN_IF_ERROR(CAPSTAN_FAILPOINT_STATUS("state.written"));
    return absl::OkStatus();
  }
  if (!absl::IsAborted(written.status()) && !absl::IsAlreadyExists(written.status())) {
    return written.status();
  }
  // An earlier write of this chief that seemed to have failed may have succeeded.
  CAPSTAN_ASSIGN_OR_RETURN(const Object object, folder_->GetWithVersion(kState));
  v1::ChiefState present;
  CAPSTAN_RETURN_IF_ERROR(OpenSealedJson(kState, object.bytes, present));
  if (present.written_by() != state.written_by()) {
    return absl::AbortedError(absl::StrCat("a chief of term ", present.term(), " has written ",
                                           kState, ", this one is of term ", state.term()));
  }
  version_ = object.version;
  return absl::UnavailableError("the state had been written before; it is written again");
}

absl::Status JobStore::SetStateAside(uint64_t term) {
  CAPSTAN_ASSIGN_OR_RETURN(const std::string text, folder_->Get(kState));
  return folder_->Put(absl::StrCat("state/chief-", term, ".json"), text);
}

absl::Status JobStore::KeepTasks(uint64_t fingerprint, const TaskRanges& ranges) {
  const std::string key = TasksKey(fingerprint);
  const absl::Status kept = folder_->Stat(key).status();
  if (kept.ok()) return KeepListing(fingerprint, ranges.listing());
  if (!absl::IsNotFound(kept)) return kept;
  v1::TrainTasks all;
  all.set_format(2);
  all.mutable_runs()->Add(ranges.runs().begin(), ranges.runs().end());
  CAPSTAN_ASSIGN_OR_RETURN(const std::string text, SealJson(all));
  CAPSTAN_RETURN_IF_ERROR(folder_->Put(key, text));
  return KeepListing(fingerprint, ranges.listing());
}

// Keeps the hash of the last listing from which the ranges were made.
absl::Status JobStore::KeepListing(uint64_t fingerprint, uint64_t listing) {
  if (listing == 0) return absl::OkStatus();
  const std::string key = ListingKey(fingerprint);
  const absl::StatusOr<std::string> kept = folder_->Get(key);
  if (!kept.ok() && !absl::IsNotFound(kept.status())) return kept.status();
  if (kept.ok() && ListingOfText(*kept) == listing) return absl::OkStatus();
  return folder_->Put(key, absl::StrFormat("%016x", listing));
}

absl::StatusOr<TaskRanges> JobStore::ReadTasks(uint64_t fingerprint) {
  const std::string key = TasksKey(fingerprint);
  CAPSTAN_ASSIGN_OR_RETURN(const std::string text, folder_->Get(key));
  v1::TrainTasks all;
  CAPSTAN_RETURN_IF_ERROR(OpenSealedJson(key, text, all));
  // Without the listing's hash the ranges will be made again.
  const absl::StatusOr<std::string> listing = folder_->Get(ListingKey(fingerprint));
  return TaskRanges(all, listing.ok() ? ListingOfText(*listing) : 0);
}

absl::StatusOr<std::optional<v1::StoredModel>> JobStore::ReadModel() {
  model_version_.reset();
  absl::StatusOr<Object> object = folder_->GetWithVersion(kModel);
  if (absl::IsNotFound(object.status())) return std::nullopt;
  CAPSTAN_RETURN_IF_ERROR(object.status());
  model_version_ = object->version;
  v1::StoredModel model;
  CAPSTAN_RETURN_IF_ERROR(OpenSealedJson(kModel, object->bytes, model));
  return model;
}

absl::Status JobStore::WriteModel(const v1::StoredModel& model) {
  CAPSTAN_ASSIGN_OR_RETURN(const std::string text, SealJson(model));
  const absl::StatusOr<ObjectVersion> written =
      model_version_ ? folder_->PutIfMatch(kModel, text, *model_version_)
                     : folder_->PutIfAbsent(kModel, text);
  if (!absl::IsAlreadyExists(written.status())) return written.status();
  return absl::AbortedError(written.status().message());
}

JobStore::Deletion JobStore::Delete(const std::vector<std::string>& ids) {
  Deletion deletion;
  for (const std::string& id : ids) {
    absl::Status deleted = CAPSTAN_FAILPOINT_STATUS("checkpoint.delete");
    if (deleted.ok()) deleted = DeleteCheckpoint(*checkpoints_, id);
    if (deleted.ok()) deletion.deleted.push_back(id);
    const bool refused = absl::IsFailedPrecondition(deleted) || absl::IsInvalidArgument(deleted);
    if (!deleted.ok() && !refused) {
      deletion.status = deleted;
      break;
    }
    deletion.status.Update(deleted);
  }
  return deletion;
}

JobStore::Deletion JobStore::DeleteUncompleted(const std::vector<std::string>& ids) {
  Deletion deletion;
  for (const std::string& id : ids) {
    const absl::Status given_up = GiveUp(id);
    if (absl::IsAlreadyExists(given_up)) continue;
    Deletion one = given_up.ok() ? Delete({id}) : Deletion{.status = given_up};
    std::move(one.deleted.begin(), one.deleted.end(), std::back_inserter(deletion.deleted));
    deletion.status = std::move(one.status);
    if (!deletion.status.ok()) break;
  }
  return deletion;
}

}  // namespace capstan::chief
