#include "chief/duties/waiting.h"

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace capstan::chief {
namespace {

// Returns what the end of the job waits for: the model to be saved, then the state to be stored.
std::string EndWaitsFor(const JobContext& job) {
  const auto because = [](const absl::Status& status) {
    return status.ok() ? "" : absl::StrCat(", which fails: ", status.message());
  };
  if (!job.writer.IsStored(job.completion)) {
    return absl::StrCat("the object store, for the chief's state", because(job.writer.last()));
  }
  if (job.state != v1::JOB_STATE_CHECKPOINTING) return "";
  std::string what = "the model to be saved";
  if (const std::vector<uint32_t> unsaved = job.checkpoints.checkpointer.Unsaved();
      !unsaved.empty()) {
    absl::StrAppend(&what, " by shard ", absl::StrJoin(unsaved, ", "));
  }
  return absl::StrCat(what, because(job.checkpoints.checkpointer.last_failure()));
}

// If all workers wait for data, returns which ones do, by file; empty if at least one can work.
std::string AwaitedData(const JobContext& job) {
  if (!job.training.workers.AllStuck()) return "";
  std::map<std::string, std::vector<std::string>> waiting;
  for (const auto& [name, worker] : job.training.workers.live()) {
    if (worker.stuck) waiting[worker.report.stalled_on()].push_back(name);
  }
  return absl::StrJoin(waiting, "; ", [](std::string* out, const auto& file) {
    absl::StrAppend(out, "the data of ", file.first, ", which ", absl::StrJoin(file.second, ", "),
                    file.second.size() == 1 ? " waits for" : " wait for");
  });
}

// Returns true if the final evaluation needs a worker, and there is none. Workers that wait for
// data are reported by AwaitedData.
bool AwaitsWorker(const JobContext& job) {
  const Evaluations& evaluations = job.training.evaluations;
  return job.training.end.step == EndStep::kEvaluate && evaluations.enabled() &&
         !evaluations.final_over() && !job.training.workers.AnyEligible() &&
         !job.training.workers.AllStuck();
}

}  // namespace

std::string WaitingFor(const JobContext& job, absl::Time now) {
  std::vector<std::string> awaited;
  if (std::string end = EndWaitsFor(job); !end.empty()) awaited.push_back(std::move(end));
  if (job.ended()) return absl::StrJoin(awaited, "; ");
  const ViewBuilder& views = job.placement.views;
  const std::set<uint32_t> shards = views.has_map() ? views.owners() : job.ShardsOfNextMap(now);
  const auto is_there = [&job, now](uint32_t index) {
    const Shard* shard = job.placement.shards.Find(index);
    return shard != nullptr && shard->present && !job.placement.hearing.IsSilent(*shard, now);
  };
  const bool none = shards.size() > 1 && std::none_of(shards.begin(), shards.end(), is_there);
  if (none)
    awaited.push_back(absl::StrCat("all ", shards.size(), " shards: none of them is there"));
  for (uint32_t index : shards) {
    if (none) break;
    if (!is_there(index)) {
      awaited.push_back(absl::StrCat("shard ", index));
    } else if (job.recovery.restoration.Awaits(index)) {
      awaited.push_back(absl::StrCat("shard ", index, ", which loads its partitions"));
    }
  }
  if (job.recovery.restoration.phase() == Recovery::Phase::kReading) {
    awaited.push_back(
        absl::StrCat("the object store, for ", job.recovery.restoration.source().uri));
  }
  if (job.placement.gate.published().timeline() != job.placement.timeline()) {
    awaited.push_back(job.writer.last().ok() ? "the object store"
                                             : absl::StrCat("the object store, which fails: ",
                                                            job.writer.last().message()));
  }
  if (AwaitsWorker(job)) awaited.emplace_back("a worker, for the final evaluation");
  if (std::string data = AwaitedData(job); !data.empty()) awaited.push_back(std::move(data));
  return absl::StrJoin(awaited, "; ");
}

}  // namespace capstan::chief
