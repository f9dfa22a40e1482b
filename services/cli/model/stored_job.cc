#include "cli/model/stored_job.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "capstan/base/status.h"
#include "capstan/checkpoint/checkpoint.h"
#include "capstan/checkpoint/checkpoint_list.h"
#include "capstan/checkpoint/sealed_json.h"
#include "capstan/checkpoint/state_format.h"
#include "capstan/data/tasks/task_ranges.h"
#include "capstan/model/oddness.h"
#include "capstan/objectstore/object_store.h"
#include "capstan/v1/chief_state.pb.h"
#include "cli/model/exported_model.h"

namespace capstan::cli {
namespace {

constexpr char kState[] = "state/chief.json";
constexpr char kManifest[] = "MANIFEST.json";
constexpr char kCheckpoints[] = "checkpoints";

std::string Within(const std::string& folder, absl::string_view name) {
  return absl::StrCat(absl::StripSuffix(folder, "/"), "/", name);
}

absl::StatusOr<v1::ChiefState> ReadStateOfAnyFormat(const std::string& folder) {
  CAPSTAN_ASSIGN_OR_RETURN(const std::unique_ptr<ObjectStore> store, OpenObjectStore(folder));
  CAPSTAN_ASSIGN_OR_RETURN(const std::string text, store->Get(kState));
  v1::ChiefState state;
  CAPSTAN_RETURN_IF_ERROR(OpenSealedJson(kState, text, state));
  return state;
}

absl::StatusOr<v1::ChiefState> ReadState(const std::string& folder) {
  CAPSTAN_ASSIGN_OR_RETURN(v1::ChiefState state, ReadStateOfAnyFormat(folder));
  CAPSTAN_RETURN_IF_ERROR(CheckStateFormat(kState, state, "program"));
  return state;
}

// As ReadState, but errors name the folder.
absl::StatusOr<v1::ChiefState> StateOf(const std::string& folder) {
  absl::StatusOr<v1::ChiefState> state = ReadState(folder);
  if (absl::IsNotFound(state.status())) {
    return absl::NotFoundError(absl::StrCat(
        folder, ": holds no job; expected <checkpoint.uri>/<job>, with ", kState, " in it"));
  }
  if (state.ok()) return state;
  return absl::Status(state.status().code(), absl::StrCat(folder, ": ", state.status().message()));
}

// Returns the newest checkpoint in a folder. NOT_FOUND: it has none that can be read.
absl::StatusOr<ListedCheckpoint> Newest(const std::string& checkpoints) {
  CAPSTAN_ASSIGN_OR_RETURN(const std::unique_ptr<ObjectStore> store, OpenObjectStore(checkpoints));
  CAPSTAN_ASSIGN_OR_RETURN(std::vector<ListedCheckpoint> list, ListCheckpoints(*store));
  std::optional<ListedCheckpoint> newest;
  for (ListedCheckpoint& checkpoint : list) {
    const v1::Manifest& manifest = checkpoint.manifest;
    const auto rank = [](const v1::Manifest& of) { return std::pair(of.timeline(), of.step()); };
    if (!checkpoint.status.ok()) continue;
    if (!newest || rank(newest->manifest) <= rank(manifest)) newest = std::move(checkpoint);
  }
  if (!newest) return absl::NotFoundError(absl::StrCat(checkpoints, ": holds no checkpoint"));
  return *std::move(newest);
}

// Returns the records of an epoch, as its stored tasks say; 0: they do not say.
uint64_t RecordsOf(const v1::ChiefState& state, const std::string& folder) {
  const v1::DataSpec& data = state.job().data();
  if (data.format() == v1::DATA_FORMAT_SYNTHETIC) return data.synthetic().train_rows();
  const auto store = OpenObjectStore(folder);
  if (!store.ok()) return 0;
  const std::string key =
      absl::StrFormat("state/tasks-%016x.json", state.progress().tasks_fingerprint());
  const absl::StatusOr<std::string> text = (*store)->Get(key);
  v1::TrainTasks tasks;
  if (!text.ok() || !OpenSealedJson(key, *text, tasks).ok()) return 0;
  return TaskRanges(tasks).expected_records();
}

void FillCheckpoint(const ListedCheckpoint& newest, const std::string& uri, absl::Time now,
                    v1::CheckpointStatus& status) {
  const v1::Manifest& manifest = newest.manifest;
  const auto created = static_cast<int64_t>(manifest.created_unix_seconds());
  status.set_uri(uri);
  status.set_step(manifest.step());
  status.set_examples(manifest.progress().examples());
  status.set_age_seconds(absl::ToDoubleSeconds(now - absl::FromUnixSeconds(created)));
  status.set_bytes(newest.bytes);
  status.set_delta(!manifest.parent().empty());
}

void FillProgress(const v1::ChiefState& state, const std::string& folder,
                  v1::GetStatusReply& reply) {
  const v1::TaskProgress& progress = state.progress();
  const uint64_t expected = RecordsOf(state, folder) * state.job().train().epochs();
  const bool completed = state.state() == v1::JOB_STATE_COMPLETED;
  reply.set_examples(progress.examples());
  reply.set_examples_expected(completed ? progress.examples()
                                        : std::max(expected, progress.examples()));
  reply.set_global_step(progress.steps());
  reply.set_data_epoch(
      std::min(progress.data_epoch(), std::max(1u, state.job().train().epochs()) - 1));
  const double share = expected == 0 ? 0 : static_cast<double>(progress.examples()) / expected;
  reply.set_progress(completed ? 1 : std::min(share, 1.0));
  reply.set_eta_seconds(completed ? 0 : -1);
  reply.set_elapsed_seconds(state.elapsed_seconds());
  if (state.elapsed_seconds() > 0 && completed) {
    reply.set_examples_per_second(progress.examples() / state.elapsed_seconds());
  }
}

// Removes the name of the folder of checkpoints from the end of its path.
bool ConsumeCheckpoints(absl::string_view& path) {
  path = absl::StripSuffix(path, "/");
  return absl::ConsumeSuffix(&path, absl::StrCat("/", kCheckpoints));
}

bool IsRemote(const std::string& uri) {
  return absl::StrContains(uri, "://") && !absl::StartsWith(uri, "file://");
}

// Returns the folders of jobs that may own this folder of checkpoints, by its path: the path as
// given (also if that is the present folder), and the path with all links resolved. Both are tried,
// as a job's own folder of checkpoints may be a link, too.
std::vector<std::string> JobsOfCheckpoints(const std::string& uri) {
  std::vector<std::string> names = {uri};
  if (!IsRemote(uri)) {
    std::error_code error;
    const std::filesystem::path here =
        std::filesystem::absolute(std::string(absl::StripPrefix(uri, "file://")), error);
    names.push_back(here.lexically_normal().string());
    names.push_back(std::filesystem::weakly_canonical(here, error).string());
  }
  std::vector<std::string> jobs;
  for (absl::string_view name : names) {
    if (!ConsumeCheckpoints(name) || name.empty()) continue;
    if (std::find(jobs.begin(), jobs.end(), name) == jobs.end()) jobs.emplace_back(name);
  }
  return jobs;
}

// Returns the jobs in a local folder.
std::vector<std::string> JobsIn(const std::string& uri) {
  std::vector<std::string> folders;
  if (absl::StrContains(uri, "://")) return folders;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(uri, error)) {
    const std::string job = entry.path().string();
    if (std::filesystem::is_directory(Within(job, kCheckpoints), error)) folders.push_back(job);
  }
  return folders;
}

// Returns whether an error means that the store has not said what is there: it is away, or refuses
// access. An invalid path is an answer.
bool HasNotAnswered(const std::string& uri, const absl::Status& status) {
  if (IsRemote(uri)) return !status.ok() && !absl::IsNotFound(status);
  return absl::IsUnavailable(status) || absl::IsPermissionDenied(status);
}

absl::StatusOr<bool> HoldsModel(const std::string& uri) {
  const auto store = OpenObjectStore(uri);
  if (HasNotAnswered(uri, store.status())) return store.status();
  if (!store.ok()) return false;
  const absl::Status manifest = (*store)->Stat(kManifest).status();
  if (HasNotAnswered(uri, manifest)) return manifest;
  return manifest.ok() || IsExportedModel(**store);
}

std::string IdOf(const std::string& model_uri) {
  return model_uri.substr(model_uri.find_last_of('/') + 1);
}

// Returns the model that the job has ended with; nothing: the job has not ended, has no model, or
// the folder holds no job. FAILED_PRECONDITION: a later version has stored the state, which may
// name another model than this program would find.
absl::StatusOr<std::optional<std::string>> ModelEndedWith(const std::string& job) {
  const absl::StatusOr<v1::ChiefState> state = ReadStateOfAnyFormat(job);
  if (HasNotAnswered(job, state.status()) || absl::IsDeadlineExceeded(state.status())) {
    return state.status();
  }
  if (state.ok()) CAPSTAN_RETURN_IF_ERROR(CheckStateFormat(kState, *state, "program"));
  const std::string id = state.ok() ? IdOf(state->model_uri()) : "";
  if (id.empty()) return std::optional<std::string>();
  std::string folder = Within(Within(job, kCheckpoints), id);
  CAPSTAN_ASSIGN_OR_RETURN(const bool there, HoldsModel(folder));
  return there ? std::optional(std::move(folder)) : std::nullopt;
}

}  // namespace

absl::StatusOr<v1::JobSpec> StoredSpec(const std::string& folder) {
  CAPSTAN_ASSIGN_OR_RETURN(const v1::ChiefState state, StateOf(folder));
  return state.job();
}

absl::StatusOr<StoredJob> ReadStoredJob(const std::string& folder, absl::Time now) {
  const absl::StatusOr<v1::ChiefState> state = StateOf(folder);
  CAPSTAN_RETURN_IF_ERROR(state.status());
  StoredJob job{.status = {}, .chief = state->chief_address()};
  v1::GetStatusReply& reply = job.status;
  const bool over =
      state->state() == v1::JOB_STATE_COMPLETED || state->state() == v1::JOB_STATE_FAILED;
  reply.set_job(state->job().job());
  reply.set_state(over ? state->state() : v1::JOB_STATE_PENDING);
  reply.set_reason(over ? state->reason()
                        : "nobody trains it now; started again, it goes on from its last "
                          "checkpoint");
  reply.set_failure_kind(state->failure_kind());
  FillProgress(*state, folder, reply);
  *reply.mutable_evaluations() = state->evaluations();
  *reply.mutable_losses() = state->losses();
  if (!state->evaluations().empty()) {
    const v1::Evaluation& last = *state->evaluations().rbegin();
    reply.set_loss(last.train_loss());
    const std::string odd = OddEvaluation(state->job().model(), last);
    if (!odd.empty()) reply.add_warnings(odd);
  }
  if (state->state() == v1::JOB_STATE_COMPLETED) reply.set_model_uri(state->model_uri());
  reply.set_curve_uri(Within(folder, "curve.csv"));
  reply.set_term(state->term());
  reply.set_timeline(state->view().timeline());
  const std::string checkpoints = Within(folder, kCheckpoints);
  if (const absl::StatusOr<ListedCheckpoint> newest = Newest(checkpoints); newest.ok()) {
    FillCheckpoint(*newest, Within(checkpoints, newest->id), now, *reply.mutable_checkpoint());
  }
  return job;
}

absl::StatusOr<std::string> ModelIn(const std::string& uri) {
  CAPSTAN_RETURN_IF_ERROR(OpenObjectStore(uri).status());
  CAPSTAN_ASSIGN_OR_RETURN(const bool is_model, HoldsModel(uri));
  if (is_model) return uri;
  std::vector<std::string> folders = {uri};
  for (std::string& job : JobsOfCheckpoints(uri)) folders.push_back(std::move(job));
  const std::vector<std::string> jobs = JobsIn(uri);
  if (jobs.size() == 1) folders.push_back(jobs.front());
  // The model that a job has ended with need not be its newest checkpoint.
  for (const std::string& folder : folders) {
    CAPSTAN_ASSIGN_OR_RETURN(std::optional<std::string> model, ModelEndedWith(folder));
    if (model) return *std::move(model);
  }
  for (const std::string& folder : folders) {
    const std::string checkpoints = Within(folder, kCheckpoints);
    const absl::StatusOr<ListedCheckpoint> newest = Newest(checkpoints);
    if (newest.ok()) return Within(checkpoints, newest->id);
    if (HasNotAnswered(checkpoints, newest.status())) return newest.status();
  }
  return absl::NotFoundError(absl::StrCat(
      uri, ": holds no model; expected the folder of a checkpoint (with ", kManifest,
      "), of a job (with ", kCheckpoints, "/) or of an exported model",
      jobs.size() > 1 ? absl::StrCat("; it holds ", jobs.size(), " jobs: name one") : ""));
}

absl::StatusOr<std::optional<std::set<std::string>>> CheckpointsInUse(
    const std::string& checkpoints) {
  std::optional<std::set<std::string>> ids;
  for (const std::string& job : JobsOfCheckpoints(checkpoints)) {
    const absl::StatusOr<v1::ChiefState> state = ReadState(job);
    if (absl::IsNotFound(state.status())) continue;
    if (!state.ok()) {
      return absl::Status(state.status().code(),
                          absl::StrCat(Within(job, kState),
                                       " says which checkpoints are needed, and "
                                       "cannot be read: ",
                                       state.status().message()));
    }
    if (!ids) ids.emplace();
    ids->insert({state->manifest(), state->best_manifest(), state->opened_from(),
                 IdOf(state->model_uri())});
    ids->erase("");
  }
  return ids;
}

std::string CheckpointsOf(const std::string& folder) { return Within(folder, kCheckpoints); }

std::string NameOfFolder(const std::string& uri) {
  const absl::string_view path = absl::StripSuffix(uri, "/");
  return std::string(path.substr(path.find_last_of('/') + 1));
}

}  // namespace capstan::cli
