#include "chief/shell/job_claim.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "capstan/base/failpoint.h"
#include "capstan/base/log.h"
#include "capstan/base/status.h"
#include "capstan/checkpoint/checkpoint.h"
#include "capstan/checkpoint/state_format.h"
#include "capstan/data/tasks/measure_data.h"
#include "chief/shell/job_difference.h"
#include "chief/work/held_out.h"
#include "chief/work/work.h"

namespace capstan::chief {
namespace {

constexpr int kAttempts = 10;
constexpr absl::Duration kPause = absl::Seconds(1);

const std::string& BeginsWith(const ClaimOptions& options) {
  return options.from.empty() ? options.initial : options.from;
}

v1::ChiefState NewState(uint64_t term, uint64_t first_timeline, const ClaimOptions& options) {
  v1::ChiefState state;
  state.set_format(kStateFormat);
  state.set_term(term);
  state.set_first_timeline(first_timeline);
  state.set_from(BeginsWith(options));
  state.set_fresh_once(options.fresh_once);
  state.set_state(v1::JOB_STATE_PENDING);
  return state;
}

// Returns a state for a job of which only checkpoints remain.
v1::ChiefState StateOf(const v1::Manifest& manifest) {
  v1::ChiefState state;
  state.set_format(kStateFormat);
  *state.mutable_job() = manifest.job();
  *state.mutable_progress() = manifest.progress();
  state.mutable_view()->set_timeline(manifest.timeline());
  state.set_state(v1::JOB_STATE_RESTORING);
  state.set_manifest(manifest.id());
  state.set_elapsed_seconds(manifest.elapsed_seconds());
  return state;
}

constexpr char kAdvice[] = "another job name or checkpoint.uri, or --fresh, starts over beside it";

// Says how a new job can begin with what this one has learned; empty if this one has no checkpoint.
std::string FromAdvice(const v1::ChiefState& state, const v1::JobSpec& spec) {
  if (state.manifest().empty()) return "";
  return absl::StrCat("; with --from ", absl::StripSuffix(spec.checkpoint().uri(), "/"), "/",
                      spec.job(), "/checkpoints/", state.manifest(),
                      " such a job begins with the parameters of this one");
}

absl::Status CheckSameConfiguration(const v1::ChiefState& state, const v1::JobSpec& spec,
                                    const ClaimOptions& options) {
  std::string difference = JobDifference(state.job(), spec);
  if (!difference.empty() && !WantsMoreEpochs(state.job(), spec)) {
    // One line, as `capstan train` shows no more of it.
    difference = absl::StrReplaceAll(absl::StripSuffix(difference, "\n"), {{"\n", "; "}});
    return absl::FailedPreconditionError(
        absl::StrCat("checkpoint.uri holds this job with another configuration: ", difference, "; ",
                     kAdvice, FromAdvice(state, spec)));
  }
  if (options.from.empty() || options.from == state.from()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("--from: the job has begun already; ", kAdvice));
}

// Prepares the state of a job that will be trained for more epochs. A job that had ended continues
// from its result, which may be older than its last checkpoint. If it had not ended, but one of its
// lanes had, it returns to its last checkpoint, because its shards know of that end.
void OpenAgain(v1::ChiefState& state) {
  const auto& lanes = state.progress().lanes();
  const bool lane_ended = std::any_of(lanes.begin(), lanes.end(),
                                      [](const v1::LaneProgress& lane) { return lane.ended(); });
  if (state.state() != v1::JOB_STATE_COMPLETED && !lane_ended) return;
  state.set_state(v1::JOB_STATE_RESTORING);
  state.clear_reason();
  if (const std::string& model = state.model_uri(); !model.empty()) {
    state.set_opened_from(model.substr(model.rfind('/') + 1));
    state.set_opened_after(state.view().timeline());
  }
  state.clear_model_uri();
  // Removes a final evaluation that only repeats the one of an earlier checkpoint, which was the
  // result.
  auto& evaluations = *state.mutable_evaluations();
  const int last = evaluations.size() - 1;
  if (last > 0 && evaluations[last].examples() < evaluations[last - 1].examples()) {
    evaluations.RemoveLast();
  }
  for (v1::Evaluation& evaluation : *state.mutable_evaluations()) evaluation.set_final(false);
}

// Makes a job that has begun continue with the data with which it began. FAILED_PRECONDITION: it
// cannot.
absl::Status GoOnWithSameData(JobStore& store, const v1::ChiefState& state,
                              const ClaimOptions& options, Claim& claim) {
  const uint64_t begun_with = state.progress().tasks_fingerprint();
  const bool over =
      state.state() == v1::JOB_STATE_COMPLETED && !WantsMoreEpochs(state.job(), claim.plan.spec);
  if (over || begun_with == TasksFingerprint(claim.plan)) {
    return absl::OkStatus();
  }
  absl::StatusOr<TaskRanges> begun = store.ReadTasks(begun_with);
  if (!begun.ok() && !absl::IsNotFound(begun.status())) return begun.status();
  if (begun.ok()) claim.data_change = CompareTrainData(*begun, claim.plan.train);
  const TrainDataChange& change = claim.data_change;
  if (begun.ok() && options.keep && change.keeps_all()) {
    log::Warn("the job goes on with the data that it has begun with",
              {{"by_now", change.ToString()}});
    claim.plan.train = *std::move(begun);
    return absl::OkStatus();
  }
  const std::string what = change.empty() ? "other files, or other sizes" : change.ToString();
  return absl::FailedPreconditionError(
      absl::StrCat("the training data are not those that the job has begun with: ", what,
                   "; with those it goes on; ", kAdvice));
}

// Turns the requested plan into the one with which a job that has begun continues.
absl::Status PlanToGoOn(JobStore& store, const v1::ChiefState& state, const ClaimOptions& options,
                        Claim& claim) {
  if (state.state() == v1::JOB_STATE_PENDING) return absl::OkStatus();
  if (LacksMeasures(claim.plan.spec.data())) {
    AdoptMeasures(state.job().data(), *claim.plan.spec.mutable_data());
  }
  const absl::Status same = CheckSameConfiguration(state, claim.plan.spec, options);
  if (!same.ok()) {
    if (!options.keep) return same;
    log::Warn("the job goes on as it was, and not as its file says", {{"reason", same.message()}});
    v1::JobSpec stored = state.job();
    // The uri under which the state was found.
    stored.mutable_checkpoint()->set_uri(claim.plan.spec.checkpoint().uri());
    CAPSTAN_ASSIGN_OR_RETURN(claim.plan, options.keep(stored));
  }
  claim.plan.spec = AsBegun(state.job(), claim.plan.spec);
  return GoOnWithSameData(store, state, options, claim);
}

bool Ended(const v1::ChiefState& state) {
  return state.state() == v1::JOB_STATE_COMPLETED || state.state() == v1::JOB_STATE_FAILED;
}

// FAILED_PRECONDITION: another chief is at work on the job.
absl::Status CheckFree(JobStore& store, const v1::ChiefState& state, const ClaimOptions& options) {
  const bool own = state.written_by() == options.run_id;
  if (own || !options.still_there || Ended(state) || !options.still_there(store, state)) {
    return absl::OkStatus();
  }
  const absl::Time since = absl::FromUnixSeconds(int64_t(state.claimed_unix_seconds()));
  return absl::FailedPreconditionError(absl::StrCat(
      "job ", state.job().job(), " of this checkpoint.uri is being trained: the chief at ",
      state.chief_address(), " on ", state.chief_host(), " has had it since ",
      absl::FormatTime("%Y-%m-%d %H:%M:%S", since, absl::LocalTimeZone()),
      "; stop that one and start this chief again, or set another job name or checkpoint.uri. "
      "--take-over ends it, and "
      "what it has trained since its last checkpoint is trained again"));
}

absl::Status CheckFrom(const std::string& uri, const v1::JobSpec& spec) {
  CAPSTAN_ASSIGN_OR_RETURN(const std::unique_ptr<ObjectStore> folder, OpenObjectStore(uri));
  const absl::StatusOr<v1::Manifest> manifest = capstan::ReadManifest(*folder);
  if (!manifest.ok()) {
    return absl::FailedPreconditionError(
        absl::StrCat("--from ", uri, ": ", manifest.status().ToString()));
  }
  const v1::JobSpec& other = manifest->job();
  if (other.partition_count() != spec.partition_count()) {
    return absl::FailedPreconditionError(
        absl::StrCat("--from ", uri, ": it has ", other.partition_count(), " partitions, this job ",
                     spec.partition_count(), "; set partition_count"));
  }
  const std::string difference = ModelDifference(other, spec);
  if (difference.empty()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("--from ", uri, ": its model is another one: ", difference));
}

// Returns the state that this chief is to write, given what it reads. Keeps the state of a former
// run beside it. `claim` holds the plan asked for, and afterwards the one by which the job goes on.
absl::StatusOr<v1::ChiefState> NextState(JobStore& store, Claim& claim, const ClaimOptions& options,
                                         const std::vector<ListedCheckpoint>& listed) {
  absl::StatusOr<std::optional<v1::ChiefState>> present = store.ReadState();
  if (absl::IsDataLoss(present.status()) && options.fresh) present = std::nullopt;
  CAPSTAN_RETURN_IF_ERROR(present.status());
  if (*present) CAPSTAN_RETURN_IF_ERROR(CheckFree(store, **present, options));
  uint64_t timeline = 0;
  const v1::Manifest* newest = nullptr;
  for (const ListedCheckpoint& checkpoint : listed) {
    if (!checkpoint.status.ok()) continue;
    const v1::Manifest& manifest = checkpoint.manifest;
    timeline = std::max(timeline, manifest.timeline());
    if (newest == nullptr || std::pair(newest->timeline(), newest->step()) <=
                                 std::pair(manifest.timeline(), manifest.step())) {
      newest = &manifest;
    }
  }
  std::optional<v1::ChiefState> state = *std::move(present);
  if (!state && newest != nullptr) state = StateOf(*newest);
  // A job that has failed before its first checkpoint has nothing to go on from.
  const bool in_vain = state && state->state() == v1::JOB_STATE_FAILED && newest == nullptr;
  if (state && !StartsOver(*state, options) && !in_vain) {
    CAPSTAN_RETURN_IF_ERROR(PlanToGoOn(store, *state, options, claim));
    if (WantsMoreEpochs(state->job(), claim.plan.spec)) OpenAgain(*state);
    state->set_term(state->term() + 1);
    if (state->state() == v1::JOB_STATE_PENDING) state->set_from(BeginsWith(options));
    return *std::move(state);
  }
  if (!options.from.empty()) CAPSTAN_RETURN_IF_ERROR(CheckFrom(options.from, claim.plan.spec));
  if (!state) return NewState(1, timeline + 1, options);
  const uint64_t term = state->term();
  if (term > 0) CAPSTAN_RETURN_IF_ERROR(store.SetStateAside(term));
  return NewState(term + 1, std::max(timeline, state->view().timeline()) + 1, options);
}

// Returns the checkpoints that this chief may count on. Gives up all that are not complete, so that
// earlier chiefs cannot complete them any more, even if they wake up: these are garbage from now
// on.
absl::StatusOr<std::vector<ListedCheckpoint>> TakeStock(JobStore& store) {
  CAPSTAN_ASSIGN_OR_RETURN(const std::vector<ListedCheckpoint> listed, store.List());
  bool changed = false;
  for (const ListedCheckpoint& checkpoint : listed) {
    if (!absl::IsNotFound(checkpoint.status)) continue;
    const absl::Status given_up = store.GiveUp(checkpoint.id);
    if (!given_up.ok() && !absl::IsAlreadyExists(given_up)) return given_up;
    changed = changed || !given_up.ok();
  }
  if (!changed) return listed;
  return store.List();  // A checkpoint was completed meanwhile.
}

absl::StatusOr<Claim> TryToClaim(JobStore& store, const JobPlan& plan, const ClaimOptions& options,
                                 absl::Time now) {
  CAPSTAN_ASSIGN_OR_RETURN(const std::vector<ListedCheckpoint> listed, store.List());
  Claim claim{.plan = plan};
  CAPSTAN_ASSIGN_OR_RETURN(v1::ChiefState state, NextState(store, claim, options, listed));
  CAPSTAN_RETURN_IF_ERROR(options.measure(claim.plan.spec));
  // The tasks of synthetic data follow from the configuration.
  if (claim.plan.spec.data().format() != v1::DATA_FORMAT_SYNTHETIC) {
    CAPSTAN_RETURN_IF_ERROR(store.KeepTasks(TasksFingerprint(claim.plan), claim.plan.train));
  }
  CAPSTAN_RETURN_IF_ERROR(CAPSTAN_FAILPOINT_STATUS("claim.read"));
  state.set_written_by(options.run_id);
  state.set_chief_address(options.address);
  state.set_chief_host(options.host);
  state.set_claimed_unix_seconds(static_cast<uint64_t>(absl::ToUnixSeconds(absl::Now())));
  for (v1::Evaluation& evaluation : *state.mutable_evaluations()) {
    evaluation.set_held_out(MeasuredOn(evaluation.held_out(), state.job(), claim.plan));
  }
  *state.mutable_job() = claim.plan.spec;
  CAPSTAN_RETURN_IF_ERROR(store.WriteState(state));
  CAPSTAN_RETURN_IF_ERROR(CAPSTAN_FAILPOINT_STATUS("claim.written"));
  CAPSTAN_ASSIGN_OR_RETURN(const std::vector<ListedCheckpoint> stock, TakeStock(store));
  claim.term = state.term();
  claim.anew = state.state() == v1::JOB_STATE_PENDING;
  for (const ListedCheckpoint& checkpoint : stock) {
    if (absl::IsNotFound(checkpoint.status)) claim.history.garbage.push_back(checkpoint.id);
    if (checkpoint.status.ok() && checkpoint.manifest.timeline() >= state.first_timeline()) {
      const uint64_t created = checkpoint.manifest.created_unix_seconds();
      const absl::Duration age = absl::Now() - absl::FromUnixSeconds(static_cast<int64_t>(created));
      CheckpointFacts& facts =
          claim.history.checkpoints.emplace_back(FactsOf(checkpoint.manifest, now - age));
      facts.held_out = MeasuredOn(facts.held_out, checkpoint.manifest.job(), claim.plan);
    }
    if (checkpoint.status.ok() || absl::IsNotFound(checkpoint.status)) continue;
    log::Error("a checkpoint cannot be read and is passed over",
               {{"checkpoint", checkpoint.id}, {"error", checkpoint.status}});
  }
  claim.history.state = std::move(state);
  return claim;
}

}  // namespace

bool StartsOver(const v1::ChiefState& present, const ClaimOptions& options) {
  const bool once = !options.fresh_once.empty() && present.fresh_once() != options.fresh_once;
  return options.fresh || once;
}

absl::StatusOr<Claim> ClaimJob(JobStore& store, const JobPlan& plan, const ClaimOptions& options,
                               absl::Time now) {
  for (int attempt = 1;; ++attempt) {
    absl::StatusOr<Claim> claim = TryToClaim(store, plan, options, now);
    // Again if another chief has begun at the same time, or the store is away for a moment.
    const bool again = absl::IsAborted(claim.status()) || absl::IsUnavailable(claim.status()) ||
                       absl::IsDeadlineExceeded(claim.status());
    if (!again || attempt == kAttempts) return claim;
    log::Warn("the job cannot be claimed yet", {{"error", claim.status()}});
    options.sleep(kPause);
  }
}

}  // namespace capstan::chief
