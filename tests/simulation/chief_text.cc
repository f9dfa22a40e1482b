#include "tests/simulation/chief_text.h"

#include <cstdint>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace capstan::simulation {
namespace {

constexpr int kSecondsAhead = 8;  // More than any patience of a small world.

int64_t Age(absl::Time then, absl::Time now) { return absl::ToInt64Milliseconds(now - then); }

// Returns in how many seconds `becomes` is true for the first time.
template <typename Becomes>
int SecondsUntil(absl::Time now, const Becomes& becomes) {
  int seconds = 0;
  while (seconds < kSecondsAhead && !becomes(now + absl::Seconds(seconds))) ++seconds;
  return seconds;
}

void AppendWorkers(const chief::JobContext& job, absl::Time now, std::string& text) {
  for (const auto& [name, worker] : job.training.workers.live()) {
    absl::StrAppend(&text, "\n worker ", name, " i", Raw(worker.incarnation), " heard ",
                    Age(worker.heard, now), worker.draining ? " drains" : "",
                    job.takeover.Awaits(name) ? " awaited" : "");
    for (const chief::Trainer& trainer : worker.trainers) {
      absl::StrAppend(&text, " trainer ", Raw(trainer.id), trainer.wants_lease ? " wants" : "",
                      trainer.training ? " trains" : "", " from ", trainer.start_clock);
      for (const v1::Lease& lease : job.training.work.LeasesOf(trainer.id)) {
        absl::StrAppend(&text, " {", lease.ShortDebugString(), "}");
      }
    }
  }
  absl::StrAppend(&text, "\n given ", job.training.workers.trainers_given());
}

void AppendShards(const chief::JobContext& job, absl::Time now, std::string& text) {
  for (const auto& [index, shard] : job.placement.shards.shards()) {
    absl::StrAppend(&text, "\n shard ", index, " i", Raw(shard.incarnation), " heard ",
                    Age(shard.heard, now), shard.present ? "" : " absent", " t",
                    shard.loaded_timeline, job.recovery.restoration.Awaits(index) ? " loads" : "");
  }
  absl::StrAppend(&text, "\n calls ", job.calls.DebugString(now));
}

void AppendTraining(const chief::JobContext& job, std::string& text) {
  const chief::Training& training = job.training;
  absl::StrAppend(
      &text, "\n end ", static_cast<int>(training.end.step), training.end.saving ? " saving" : "",
      training.end.saved ? " saved" : "", " draining ", absl::StrJoin(training.end.draining, ","),
      " stands ", static_cast<int>(training.standstill.step), training.standstill.save ? "s" : "",
      " barrier ", static_cast<int>(training.barrier.state()), " r", training.barrier.round(),
      " closes ", training.closes.settled(), training.closes.complete());
  for (const v1::StreamClose& close : training.closes.Unconfirmed()) {
    absl::StrAppend(&text, " ", close.stream(), ":", close.batches());
  }
  absl::StrAppend(&text, "\n ", training.ProgressOfNow().ShortDebugString());
}

void AppendCheckpoints(const chief::JobContext& job, absl::Time now, std::string& text) {
  const chief::Checkpointer& checkpointer = job.checkpoints.checkpointer;
  const auto due = [&](absl::Time at) { return checkpointer.Due(at); };
  const auto may = [&](absl::Time at) { return checkpointer.MayBegin(at); };
  absl::StrAppend(&text, "\n saves ", checkpointer.running(), checkpointer.saving(),
                  checkpointer.marked(), " without ", absl::StrJoin(checkpointer.Unsaved(), ","),
                  " due in ", SecondsUntil(now, due), " may in ", SecondsUntil(now, may),
                  job.NothingSinceCheckpoint() ? " nothing new" : "", " kept");
  for (const chief::CheckpointFacts& facts : job.checkpoints.catalog.all()) {
    absl::StrAppend(&text, " t", facts.timeline, "s", facts.step);
  }
}

void AppendRecovery(const chief::JobContext& job, absl::Time now, std::string& text) {
  const chief::Recovery& recovery = job.recovery.restoration;
  const auto over = [&](absl::Time at) { return job.takeover.patience_over(at); };
  absl::StrAppend(&text, "\n phase ", static_cast<int>(recovery.phase()), recovery.found(),
                  recovery.source().uri.empty() ? "" : " from a checkpoint", " next t",
                  job.recovery.next_timeline, " first t", job.recovery.first_timeline,
                  job.recovery.begins_again ? " again" : "", " takeover ", job.takeover.settled(),
                  job.takeover.complete(now), " over in ", SecondsUntil(now, over), " map of ",
                  absl::StrJoin(job.placement.next_map, ","));
}

}  // namespace

std::string TextOf(const chief::ChiefMachine& machine, absl::Time now) {
  const chief::JobContext& job = machine.job();
  std::string text =
      absl::StrCat("chief of term ", job.options.term, " ", v1::JobState_Name(job.state),
                   job.told_state() == job.state ? "" : " not told",
                   job.stop.empty() ? "" : " stop", job.writer.settled() ? " stored" : "");
  AppendWorkers(job, now, text);
  AppendShards(job, now, text);
  AppendTraining(job, text);
  AppendCheckpoints(job, now, text);
  AppendRecovery(job, now, text);
  absl::StrAppend(&text, "\n view ", TextOf(job.placement.views.current()), "\n told ",
                  TextOf(job.placement.gate.published()));
  return text;
}

std::string TextOf(v1::ChiefState state) {
  state.clear_job();
  state.clear_seal_key();
  state.clear_losses();
  state.clear_elapsed_seconds();
  state.clear_manifest();
  state.clear_best_manifest();
  state.clear_model_uri();
  state.mutable_view()->clear_epoch();
  return state.ShortDebugString();
}

std::string TextOf(v1::View view) {
  view.clear_epoch();
  return view.ShortDebugString();
}

}  // namespace capstan::simulation
