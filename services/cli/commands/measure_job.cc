#include "cli/commands/measure_job.h"

#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <thread>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "capstan/base/shutdown.h"
#include "capstan/base/status.h"
#include "capstan/config/eval_sets.h"
#include "cli/commands/run_meter.h"
#include "cli/local/crew.h"
#include "cli/local/run_folder.h"
#include "cli/model/stored_job.h"
#include "cli/status/chief_client.h"
#include "cli/status/status_view.h"

namespace capstan::cli {
namespace {

constexpr absl::Duration kPollPeriod = absl::Milliseconds(200);
constexpr absl::Duration kStatusDeadline = absl::Seconds(2);
constexpr absl::Duration kPatience = absl::Minutes(10);
constexpr absl::Duration kStopGrace = absl::Seconds(12);
constexpr int kLogLines = 12;
// The lanes that one worker holds are enough to tell what a lane costs.
constexpr uint32_t kMostLanes = 4;

constexpr char kWorker[] = "worker-0";
constexpr char kShard[] = "ps-0";

absl::StatusOr<std::string> NewFolder() {
  std::string path = (std::filesystem::temp_directory_path() / "capstan-plan-XXXXXX").string();
  if (mkdtemp(path.data()) != nullptr) return path;
  return absl::InternalError(absl::StrCat(path, ": no such folder can be made"));
}

void AddLanes(const char* part, const v1::UpdatePolicy& policy,
              std::vector<std::string>& overrides) {
  if (policy.kind() != v1::POLICY_KIND_SYNC) return;
  overrides.push_back(
      absl::StrCat("update.", part, ".lanes=", std::min(policy.lanes(), kMostLanes)));
  overrides.push_back(absl::StrCat("update.", part, ".backup_workers=0"));
}

// Returns the settings for a job that never ends and does nothing but train.
std::vector<std::string> OverridesOf(const MeasureOptions& options, const v1::JobSpec& job,
                                     const RunFolder& folder) {
  std::vector<std::string> overrides = options.overrides;
  overrides.push_back(absl::StrCat("checkpoint.uri=", folder.jobs()));
  overrides.push_back("checkpoint.every=0s");
  overrides.push_back("train.epochs=1000");
  if (HasHeldOut(job.data())) {
    overrides.push_back("train.evaluate_every_examples=1000000000000");
  }
  AddLanes("dense", job.dense_update(), overrides);
  AddLanes("sparse", job.sparse_update(), overrides);
  return overrides;
}

// Returns the CPU time of another process so far; 0: it has ended.
double CpuSeconds(pid_t process) {
  clockid_t clock;
  timespec time;
  if (clock_getcpuclockid(process, &clock) != 0 || clock_gettime(clock, &time) != 0) return 0;
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
}

// Returns the resident bytes of another process; 0: it has ended.
double ResidentBytes(pid_t process) {
  std::ifstream statm(absl::StrCat("/proc/", process, "/statm"));
  uint64_t size = 0;
  uint64_t resident = 0;
  statm >> size >> resident;
  return static_cast<double>(resident) * static_cast<double>(sysconf(_SC_PAGESIZE));
}

CrewUsage UsageOf(const Crew& crew) {
  const std::map<std::string, pid_t> processes = crew.processes();
  const auto of = [&processes](const char* name, double (*measure)(pid_t)) {
    const auto found = processes.find(name);
    return found == processes.end() ? 0 : measure(found->second);
  };
  return {.worker_cpu = of(kWorker, CpuSeconds),
          .shard_cpu = of(kShard, CpuSeconds),
          .worker_bytes = of(kWorker, ResidentBytes)};
}

// Returns the last error in the log of the process that died, or how it ended if there is none.
absl::Status ReasonOf(const Crew& crew, const absl::Status& died) {
  const std::string error = LastError(LastLines(crew.culprit_log(), kLogLines));
  return absl::AbortedError(error.empty() ? std::string(died.message()) : error);
}

absl::StatusOr<MeasuredRun> WatchCrew(Crew& crew, const MeasureOptions& options,
                                      const v1::JobSpec& job, const Shutdown& shutdown) {
  RunMeter meter(options.at_work, job.train().batch_size());
  const auto usage = [&crew] { return UsageOf(crew); };
  ChiefClient chief(crew.chief_address(), options.identity);
  const absl::Time deadline = absl::Now() + kPatience;
  while (absl::Now() < deadline) {
    if (const auto news = crew.LookAfter(); !news.ok()) return ReasonOf(crew, news.status());
    const absl::StatusOr<v1::GetStatusReply> status = chief.GetStatus(kStatusDeadline);
    if (status.ok() && IsOver(*status)) {
      return absl::AbortedError(status->reason().empty()
                                    ? "it ended before it had been measured"
                                    : absl::StrCat("it failed: ", status->reason()));
    }
    if (crew.chief_ending().has_value()) return absl::AbortedError("its chief has ended");
    if (status.ok() && meter.See(*status, absl::Now(), usage)) return meter.Result();
    if (shutdown.WaitFor(kPollPeriod)) return absl::CancelledError("stopped");
  }
  return absl::DeadlineExceededError(absl::StrCat("it has not trained ", kFewestBatches,
                                                  " batches in ", absl::FormatDuration(kPatience)));
}

absl::StatusOr<MeasuredJob> MeasureIn(const RunFolder& folder, const MeasureOptions& options,
                                      const v1::JobSpec& job) {
  const Shutdown shutdown;
  Crew crew({.programs = options.programs,
             .job = options.job,
             .overrides = OverridesOf(options, job, folder),
             .worker = options.worker},
            folder, shutdown);
  const absl::Cleanup stop = [&crew] { crew.Stop(kStopGrace); };
  if (const absl::Status started = crew.Start(); !started.ok()) {
    return absl::IsCancelled(started) ? started : ReasonOf(crew, started);
  }
  MeasuredJob measured;
  CAPSTAN_ASSIGN_OR_RETURN(measured.run, WatchCrew(crew, options, job, shutdown));
  CAPSTAN_ASSIGN_OR_RETURN(measured.stored, StoredSpec(JobFolder(folder.jobs(), job.job())));
  measured.run.origin =
      absl::StrCat("measured ", absl::FormatTime("%Y-%m-%d", absl::Now(), absl::LocalTimeZone()),
                   " with ", job.job(), ", one worker and one shard on a machine of ",
                   std::thread::hardware_concurrency(), " cores");
  return measured;
}

}  // namespace

absl::StatusOr<MeasuredJob> MeasureJob(const MeasureOptions& options, const v1::JobSpec& job) {
  CAPSTAN_ASSIGN_OR_RETURN(const std::string path, NewFolder());
  const absl::Cleanup remove = [&path] {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  };
  CAPSTAN_ASSIGN_OR_RETURN(const RunFolder folder, RunFolder::Make(path, job.job()));
  absl::StatusOr<MeasuredJob> measured = MeasureIn(folder, options, job);
  if (measured.ok()) return measured;
  return absl::Status(measured.status().code(),
                      absl::StrCat("--measure: ", job.job(), ": ", measured.status().message()));
}

}  // namespace capstan::cli
