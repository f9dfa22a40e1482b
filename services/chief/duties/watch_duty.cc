#include "chief/duties/watch_duty.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "capstan/base/open_files.h"
#include "capstan/config/quantity.h"
#include "capstan/plan/fit.h"
#include "chief/duties/waiting.h"

namespace capstan::chief {
namespace {

constexpr absl::Duration kWaitingLine = absl::Seconds(5);

}  // namespace

void WatchDuty::NoteJobChange(std::string change) {
  if (change == job_change_) return;
  job_change_ = std::move(change);
  if (job_change_.empty()) {
    job_->outbox.Log(LogEvent::Level::kInfo, "the job file says what this job does, again", {});
    return;
  }
  job_->outbox.Log(LogEvent::Level::kWarning, "the job file has changed",
                   {{"change", job_change_}});
}

// Warns of workers that have waited for data for too long, for as long as they wait.
void WatchDuty::WatchData() {
  const absl::Duration patience = absl::Seconds(job_->plan.spec.lease().data_stall_seconds());
  for (const auto& [name, worker] : job_->training.workers.live()) {
    std::string sentence;
    if (worker.stuck && !job_->ended()) {
      sentence = absl::StrCat(name, " has been waiting for ", worker.report.stalled_on(),
                              " for more than ", absl::FormatDuration(patience),
                              " (data_stall): others do its work until it can read on");
    }
    job_->outbox.Warn(absl::StrCat("the data of ", name), std::move(sentence));
  }
}

void WatchDuty::WatchIdleWorkers() {
  const size_t workers = job_->training.workers.live().size();
  const size_t shares = job_->training.work.has_lanes() ? job_->training.work.lanes()->lanes()
                                                        : job_->plan.train.size();
  std::string sentence;
  if (workers > shares && !job_->ended()) {
    const char* of = job_->training.work.has_lanes() ? " lanes" : " tasks of an epoch";
    const char* cure =
        job_->training.work.has_lanes() ? "update.*.lanes" : "data.task_bytes or data.task_records";
    sentence = absl::StrCat(workers, " workers share ", shares, of, ", so ", workers - shares,
                            " of them have nothing to do; fewer workers do as well, and a new job "
                            "may have more to share (",
                            cure, ")");
  }
  job_->outbox.Warn("idle workers", std::move(sentence));
}

void WatchDuty::WatchMemory(absl::Time now) {
  std::set<std::string> full;
  for (const auto& [index, shard] : job_->placement.shards.shards()) {
    if (job_->ended() || !shard.present) continue;
    for (const auto& [what, share] : shard.full.Full(now)) {
      const std::string about = absl::StrCat("memory of shard ", index, ": ", what);
      full.insert(about);
      const absl::Duration lasts = absl::Trunc(now - share.since, absl::Seconds(1));
      job_->outbox.Warn(
          about, absl::StrCat("shard ", index, " is full: ", what, " took ",
                              ByteSizeText(share.held), " of the ", ByteSizeText(share.limit),
                              " that they may, and what has no room is told to come again",
                              lasts > absl::ZeroDuration()
                                  ? absl::StrCat(", for ", absl::FormatDuration(lasts))
                                  : "",
                              "; `capstan plan` says what the job needs"));
    }
  }
  for (const std::string& about : full_) {
    if (!full.contains(about)) job_->outbox.Warn(about, "");
  }
  full_ = std::move(full);
}

void WatchDuty::WatchOpenFiles(int64_t open, int64_t limit) {
  const int64_t room = RoomForConnections(limit);
  // The warning ends when a fifth of the limit is free, so that connections that come and go do not
  // switch it on and off.
  const bool lasts = short_of_files_ && open > room - room / 5;
  short_of_files_ = !job_->ended() && (IsNearlyFull(open, room) || lasts);
  std::string sentence;
  if (short_of_files_) {
    sentence = absl::StrCat(
        "the chief has ", open, " files and connections open, and turns connections away above ",
        room, ": it may open ", limit, " (ulimit -n), of which it keeps ", limit - room,
        " for files, and has one connection with each of ", job_->training.workers.live().size(),
        " workers and two with each of ", job_->placement.shards.shards().size(), " shards");
  }
  job_->outbox.Warn("open files", std::move(sentence));
}

// Each worker connects to a shard, and so do the other shards and the
// chief; the shard connects to the chief, and to other shards as well.
void WatchDuty::WatchOpenFilesOfShards() {
  const auto workers = static_cast<int64_t>(job_->training.workers.live().size());
  const auto shards = static_cast<int64_t>(job_->placement.shards.shards().size());
  const int64_t open = OpenFilesOfAShard(job_->plan.spec, workers, shards);
  std::vector<std::string> low;
  for (const auto& [index, shard] : job_->placement.shards.shards()) {
    const auto limit =
        static_cast<int64_t>(std::min<uint64_t>(shard.open_files, uint64_t{1} << 31));
    if (job_->ended() || limit == 0 || !IsNearlyFull(open, RoomForConnections(limit))) continue;
    low.push_back(absl::StrCat("shard ", index, " may open ", limit));
  }
  std::string sentence;
  if (!low.empty()) {
    sentence =
        absl::StrCat(low.front(), " files and connections (ulimit -n): with each of ", workers,
                     " workers and ", shards, " shards connected to it, it has about ", open,
                     " open, and ", EnoughOpenFiles(open), " are enough for that");
  }
  if (low.size() > 1) {
    absl::StrAppend(&sentence, "; of ", low.size(), " shards the limit is too low");
  }
  job_->outbox.Warn("open files of shards", std::move(sentence));
}

void WatchDuty::WatchStragglers(absl::Time now) {
  std::vector<std::pair<std::string, double>> step_seconds;
  for (const auto& [name, worker] : job_->training.workers.live()) {
    if (worker.step_seconds() > 0) step_seconds.emplace_back(name, worker.step_seconds());
  }
  for (const std::string& name : job_->training.stragglers.Update(step_seconds, now)) {
    job_->outbox.Log(LogEvent::Level::kWarning, "straggler: more than twice the median step time",
                     {{"worker", name}});
  }
}

void WatchDuty::LogWaiting(absl::Time now) {
  if (looked_at_ == absl::InfinitePast()) looked_at_ = now;
  if (now < looked_at_ + kWaitingLine) return;
  looked_at_ = now;
  const std::string waiting = WaitingFor(*job_, now);
  if (!waiting.empty())
    job_->outbox.Log(LogEvent::Level::kWarning, "the job waits", {{"for", waiting}});
}

}  // namespace capstan::chief
