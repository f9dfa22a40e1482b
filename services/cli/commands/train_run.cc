#include "cli/commands/train_run.h"

#include <unistd.h>

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "capstan/base/shutdown.h"
#include "capstan/base/status.h"
#include "capstan/config/config.h"
#include "capstan/config/eval_sets.h"
#include "cli/commands/command.h"
#include "cli/local/crew.h"
#include "cli/local/run_folder.h"
#include "cli/model/stored_job.h"
#include "cli/status/follower.h"
#include "cli/status/last_words.h"
#include "cli/status/status_view.h"
#include "cli/status/terminal.h"
#include "cli/terminal/format.h"

namespace capstan::cli {
namespace {

constexpr absl::Duration kStopGrace = absl::Seconds(12);
constexpr int kLogLines = 12;

// The job of this run, and the folder for its logs.
struct Plan {
  v1::JobSpec job;
  RunFolder folder;
  std::string job_folder;  // Where the job is kept.
  std::string from = {};   // The checkpoint that the job begins with; empty: none.
};

// Returns an error if the user's own program computes the job and nothing says how it is started.
absl::Status CheckProgram(const TrainOptions& options, const v1::JobSpec& job) {
  const std::string& program = job.model().user();
  if (program.empty() || !options.worker.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(options.job, ": model.user: this job is computed by ", program,
                   "; say how its workers are started: --worker 'python3 ", program, "'"));
}

absl::StatusOr<Plan> MakePlan(const TrainOptions& options) {
  CAPSTAN_ASSIGN_OR_RETURN(
      v1::JobSpec job,
      LoadJob(options.job, {.overrides = options.overrides,
                            .default_lanes = static_cast<uint32_t>(options.workers)}));
  CAPSTAN_RETURN_IF_ERROR(CheckProgram(options, job));
  CAPSTAN_ASSIGN_OR_RETURN(RunFolder folder, RunFolder::Make(options.run_folder, job.job()));
  const std::string uri = job.checkpoint().uri().empty() ? folder.jobs() : job.checkpoint().uri();
  std::string job_folder = JobFolder(uri, job.job());
  CAPSTAN_RETURN_IF_ERROR(folder.NoteJob(job_folder));
  Plan plan{
      .job = std::move(job), .folder = std::move(folder), .job_folder = std::move(job_folder)};
  if (!options.from.empty()) {
    CAPSTAN_ASSIGN_OR_RETURN(plan.from, FindModel(options.from));
  }
  return plan;
}

// Returns the user's overrides, and further ones for settings that the job leaves open and this run
// decides.
std::vector<std::string> OverridesOf(const TrainOptions& options, const Plan& plan) {
  std::vector<std::string> overrides = options.overrides;
  if (plan.job.checkpoint().uri().empty()) {
    overrides.push_back(absl::StrCat("checkpoint.uri=", plan.folder.jobs()));
  }
  const v1::UpdatePolicy& dense = plan.job.dense_update();
  if (dense.kind() == v1::POLICY_KIND_SYNC) {
    overrides.push_back(absl::StrCat("update.dense.lanes=", dense.lanes()));
  }
  const v1::UpdatePolicy& sparse = plan.job.sparse_update();
  if (sparse.kind() == v1::POLICY_KIND_SYNC) {
    overrides.push_back(absl::StrCat("update.sparse.lanes=", sparse.lanes()));
  }
  return overrides;
}

CrewOptions CrewOptionsOf(const TrainOptions& options, const Plan& plan) {
  return {.programs = options.programs,
          .job = options.job,
          .overrides = OverridesOf(options, plan),
          .fresh = options.fresh,
          .from = plan.from,
          .take_over = options.take_over,
          .shards = options.shards,
          .workers = options.workers,
          .chief_port = options.chief_port,
          .keep_going = options.keep_going,
          .worker = options.worker};
}

// Prints why a job failed, the reason first. The last error that the process has logged says more
// than how it ended. If it has logged none, the last lines of its log are printed.
void PrintFailure(const std::string& job, const std::string& what, const std::string& log) {
  const std::vector<std::string> lines = LastLines(log, kLogLines);
  const std::string error = LastError(lines);
  if (!error.empty()) {
    PrintError(absl::StrCat(job, " failed: ", error));
    PrintError(absl::StrCat("(", what, "; its log is ", log, ")"));
    return;
  }
  PrintError(absl::StrCat(job, " failed: ", what));
  if (lines.empty()) return;
  PrintError(absl::StrCat("the last lines of ", log, ":"));
  for (const std::string& line : lines) PrintError(absl::StrCat("  ", line));
}

void StopCrew(Crew& crew, Terminal& terminal) {
  for (const std::string& name : crew.Stop(kStopGrace)) {
    terminal.Say(absl::StrCat(name, " did not stop in time and was killed"));
  }
}

// Returns the exit code: that of the chief, unless its status said already how the job ended.
ExitCode CodeOf(const v1::GetStatusReply& status, const std::optional<Ending>& chief) {
  if (status.state() == v1::JOB_STATE_COMPLETED) return kDone;
  if (status.failure_kind() == v1::FAILURE_KIND_BAD_INPUT) return kBadInput;
  if (!chief.has_value() || chief->signal != 0) return kFailed;
  if (chief->exit_code == kDone) return kDone;
  return chief->exit_code == kBadInput ? kBadInput : kFailed;
}

LastWordsOptions WordsOf(const TrainOptions& options, const Plan& plan, const Follower& follower) {
  return {.program = options.program,
          .job_file = options.job,
          .shards = options.shards,
          .workers = options.workers,
          .epochs = plan.job.train().epochs(),
          .worked = follower.worked(),
          .held_out = HasHeldOut(plan.job.data()),
          .overrides = options.overrides,
          .run_folder = options.run_folder,
          .from = options.from,
          .worker = options.worker,
          .keep_going = options.keep_going,
          .chief_port = options.chief_port,
          .tls = options.tls};
}

// Returns how a completed job stands. Its chief may have ended before it was asked for that, as one
// does that finds the job completed.
v1::GetStatusReply CompletedStatus(const Plan& plan, const Follower& follower) {
  if (IsOver(follower.status())) return follower.status();
  absl::StatusOr<StoredJob> stored = ReadStoredJob(plan.job_folder, absl::Now());
  if (!stored.ok() || !IsOver(stored->status)) return follower.status();
  return std::move(stored->status);
}

// Stops the crew of a job that is over, and prints how it ended.
ExitCode Conclude(const TrainOptions& options, const Plan& plan, Follower& follower, Crew& crew,
                  Terminal& terminal) {
  const ExitCode code = CodeOf(follower.status(), follower.AwaitChief());
  StopCrew(crew, terminal);
  if (code == kDone) {
    const LastWordsOptions words = WordsOf(options, plan, follower);
    for (const std::string& line : LastWords(CompletedStatus(plan, follower), words)) {
      terminal.Say(line);
    }
    return kDone;
  }
  const std::string& reason = follower.status().reason();
  const std::string log = plan.folder.Log("chief");
  if (reason.empty()) {
    PrintFailure(plan.job.job(), "the chief ended before the job did", log);
    return code;
  }
  PrintError(absl::StrCat(plan.job.job(), " failed: ", Printable(reason)));
  PrintError(absl::StrCat("(the chief's log is ", log, ")"));
  return code;
}

// Ends a job before its time, at the user's wish: saves it first, so that nothing is lost.
ExitCode SaveAndStop(const TrainOptions& options, const Plan& plan, Follower& follower, Crew& crew,
                     Terminal& terminal) {
  terminal.Keep();
  terminal.Say("stopping: the job is saved first; Ctrl-C again ends at once");
  const absl::StatusOr<std::string> saved = follower.Save();
  if (IsOver(follower.status())) return Conclude(options, plan, follower, crew, terminal);
  terminal.Keep();
  terminal.Say("stopping all processes");
  StopCrew(crew, terminal);
  const LastWordsOptions words = WordsOf(options, plan, follower);
  for (const std::string& line : StopWords(follower.status(), saved, words)) terminal.Say(line);
  PrintError(absl::StrCat(plan.job.job(), " was stopped before its end"));
  return kFailed;
}

// Stops the crew of a job that could not begin or cannot go on.
ExitCode GiveUp(const absl::Status& why, const Plan& plan, Crew& crew, Terminal& terminal) {
  const std::optional<Ending> chief = crew.chief_ending();
  terminal.Keep();
  if (absl::IsCancelled(why)) terminal.Say("stopping all processes");
  StopCrew(crew, terminal);
  if (absl::IsCancelled(why)) {
    PrintError(absl::StrCat(plan.job.job(), " was stopped before its end"));
    return kFailed;
  }
  PrintFailure(plan.job.job(), std::string(why.message()), crew.culprit_log());
  return chief.has_value() && chief->exit_code == kBadInput ? kBadInput : kFailed;
}

}  // namespace

ExitCode Train(const TrainOptions& options) {
  const absl::StatusOr<Plan> plan = MakePlan(options);
  if (!plan.ok()) {
    PrintRefusal(plan.status());
    return kBadInput;
  }
  Terminal terminal(STDOUT_FILENO, options.plain);
  terminal.Say(absl::StrCat(plan->job.job(), ": shards ", options.shards, ", workers ",
                            options.workers, "; logs in ", plan->folder.path()));
  const Shutdown shutdown;
  Crew crew(CrewOptionsOf(options, *plan), plan->folder, shutdown);
  if (const absl::Status started = crew.Start(); !started.ok()) {
    return GiveUp(started, *plan, crew, terminal);
  }
  Follower follower(crew, shutdown, terminal, options.identity);
  const absl::Status followed = follower.Follow();
  if (absl::IsCancelled(followed)) {
    return SaveAndStop(options, *plan, follower, crew, terminal);
  }
  if (!followed.ok()) {
    return GiveUp(followed, *plan, crew, terminal);
  }
  return Conclude(options, *plan, follower, crew, terminal);
}

}  // namespace capstan::cli
