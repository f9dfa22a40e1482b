#include "cli/local/crew.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "capstan/base/ports_file.h"
#include "capstan/base/status.h"
#include "capstan/metrics/cgroup.h"
#include "cli/terminal/format.h"

namespace capstan::cli {
namespace {

constexpr char kLoopback[] = "127.0.0.1:";
// Long, as planning may read compressed data once to count records.
constexpr absl::Duration kChiefStart = absl::Minutes(2);
constexpr absl::Duration kStartPollPeriod = absl::Milliseconds(20);

// A shard that is stopped waits so many seconds for the chief, which is stopped with it.
constexpr char kShardGrace[] = "1";

// The exit code of a service that cannot start with its arguments.
constexpr int kBadInput = 2;

void Extend(std::vector<std::string>& argv, std::vector<std::string> more) {
  argv.insert(argv.end(), std::make_move_iterator(more.begin()),
              std::make_move_iterator(more.end()));
}

}  // namespace

Crew::Crew(CrewOptions options, const RunFolder& folder, const Shutdown& shutdown)
    : options_(std::move(options)),
      folder_(folder),
      shutdown_(shutdown),
      fresh_name_(absl::StrCat("run-", absl::ToUnixNanos(absl::Now()), "-", getpid())) {}

Crew::Child Crew::MakeChild(const std::string& program, const std::string& name) const {
  Child child;
  child.name = name;
  child.argv = {options_.programs + "/" + program,
                "--health-port",
                "0",
                "--metrics-port",
                "0",
                "--ports-file",
                folder_.Ports(name)};
  return child;
}

Crew::Child Crew::MakeWorker(const std::string& name) const {
  if (options_.worker.empty()) {
    Child child = MakeChild("worker", name);
    Extend(child.argv, {"--chief", chief_address_, "--name", name, "--host", "127.0.0.1"});
    return child;
  }
  Child child;
  child.name = name;
  child.argv = {"/usr/bin/env", absl::StrCat("CAPSTAN_CHIEF=", chief_address_),
                absl::StrCat("CAPSTAN_NAME=", name), "CAPSTAN_HOST=127.0.0.1",
                "CAPSTAN_HEALTH_PORT=0", "CAPSTAN_METRICS_PORT=0",
                absl::StrCat("CAPSTAN_PORTS_FILE=", folder_.Ports(name)), "/bin/sh", "-c",
                // The program takes the shell's place, so that signals reach it.
                absl::StrCat("exec ", options_.worker)};
  return child;
}

absl::Status Crew::StartChild(Child& child) {
  absl::StatusOr<Process> process =
      Process::Start({.argv = child.argv, .log_path = folder_.Log(child.name)});
  if (!process.ok()) return process.status();
  child.process = *std::move(process);
  child.started = absl::Now();
  child.restart_at = absl::InfiniteFuture();
  return absl::OkStatus();
}

absl::Status Crew::Blame(const Child& child, const std::string& what) {
  culprit_log_ = folder_.Log(child.name);
  return absl::AbortedError(absl::StrCat(child.name, " ", what));
}

std::vector<std::string> Crew::ChiefArguments(const std::string& listen) const {
  std::vector<std::string> arguments = {"--job",           options_.job,
                                        "--listen",        listen,
                                        "--shards",        absl::StrCat(options_.shards),
                                        "--exit-when-done"};
  for (const std::string& setting : options_.overrides) Extend(arguments, {"--set", setting});
  return arguments;
}

// Returns the arguments that say how the job begins, which a restarted chief may be given again.
std::vector<std::string> Crew::BeginningArguments() const {
  std::vector<std::string> arguments;
  if (options_.fresh) Extend(arguments, {"--fresh-once", fresh_name_});
  if (!options_.from.empty()) Extend(arguments, {"--from", options_.from});
  return arguments;
}

absl::Status Crew::StartChief() {
  chief_ = MakeChild("chief", "chief");
  // If the port cannot be held, the chief cannot listen on it either, and says why.
  chief_port_ = HeldPort::Hold(options_.chief_port);
  const int port = chief_port_.has_value() ? chief_port_->number() : options_.chief_port;
  Extend(chief_.argv, ChiefArguments(absl::StrCat(kLoopback, port)));
  Extend(chief_.argv, BeginningArguments());
  if (options_.take_over) Extend(chief_.argv, {"--take-over"});
  return StartChild(chief_);
}

absl::Status Crew::AwaitChief() {
  const absl::Time deadline = absl::Now() + kChiefStart;
  while (absl::Now() < deadline) {
    if (absl::StatusOr<Ports> ports = ReadPortsFile(folder_.Ports("chief")); ports.ok()) {
      chief_address_ = absl::StrCat(kLoopback, ports->data);
      // A restarted chief goes on with this job, at the address where the others look for it.
      chief_.argv = MakeChild("chief", "chief").argv;
      Extend(chief_.argv, ChiefArguments(chief_address_));
      // Where a worker has to declare the model first, the chief listens before it has the job, so
      // it may need to be told again how the job begins.
      if (!options_.worker.empty()) Extend(chief_.argv, BeginningArguments());
      return absl::OkStatus();
    }
    if (const auto ending = chief_.process->Poll(); ending.has_value()) {
      return Blame(chief_, absl::StrCat("ended with ", ending->ToString(), " while starting"));
    }
    if (shutdown_.WaitFor(kStartPollPeriod)) return absl::CancelledError("stopped");
  }
  return Blame(chief_, absl::StrCat("does not listen after ", ShortDuration(kChiefStart)));
}

absl::Status Crew::Start() {
  CAPSTAN_RETURN_IF_ERROR(StartChief());
  CAPSTAN_RETURN_IF_ERROR(AwaitChief());
  for (int i = 0; i < options_.shards; ++i) {
    Child shard = MakeChild("ps", absl::StrCat("ps-", i));
    // The shards share the machine's memory.
    const uint64_t memory = metrics::UsableMemoryBytes() / static_cast<uint64_t>(options_.shards);
    Extend(shard.argv,
           {"--chief", chief_address_, "--index", absl::StrCat(i), "--listen",
            absl::StrCat(kLoopback, 0), "--memory", absl::StrCat(memory), "--grace", kShardGrace});
    shards_.push_back(std::move(shard));
    CAPSTAN_RETURN_IF_ERROR(StartChild(shards_.back()));
  }
  for (int i = 0; i < options_.workers; ++i) {
    workers_.push_back(MakeWorker(absl::StrCat("worker-", i)));
    CAPSTAN_RETURN_IF_ERROR(StartChild(workers_.back()));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<std::string>> Crew::LookAfter() {
  std::vector<std::string> news;
  // Once the chief has ended, the job is over, and the others may notice it and end as well.
  if (chief_ending().has_value()) return news;
  CAPSTAN_RETURN_IF_ERROR(LookAfterChild(chief_, /*needed=*/true, news));
  for (Child& shard : shards_) {
    CAPSTAN_RETURN_IF_ERROR(LookAfterChild(shard, /*needed=*/true, news));
  }
  for (Child& worker : workers_) {
    const bool needed = !options_.keep_going || IsLastWorker(worker);
    CAPSTAN_RETURN_IF_ERROR(LookAfterChild(worker, needed, news));
  }
  return news;
}

bool Crew::IsLastWorker(const Child& worker) const {
  return std::all_of(workers_.begin(), workers_.end(), [&worker](const Child& other) {
    return &other == &worker || other.given_up();
  });
}

absl::Status Crew::LookAfterChild(Child& child, bool needed, std::vector<std::string>& news) {
  const absl::Time now = absl::Now();
  if (child.process.has_value()) {
    const auto ending = child.process->Poll();
    if (!ending.has_value()) return absl::OkStatus();
    const std::string died = absl::StrCat("died: ", ending->ToString());
    child.process.reset();
    // A program whose model the job has refused would be refused again.
    const bool refused = ending->exit_code == kBadInput && IsUserProgram(child);
    const auto delay = refused ? std::nullopt : child.restarts.OnDeath(now - child.started);
    if (!delay.has_value() && needed) {
      return Blame(child, refused ? died : absl::StrCat(died, ", and so again and again"));
    }
    child.restart_at = delay.has_value() ? now + *delay : absl::InfiniteFuture();
    const std::string log = folder_.Log(child.name);
    news.push_back(
        absl::StrCat(child.name, " ", died,
                     delay.has_value() ? "; it is started again" : "; the others go on without it",
                     " (", log, ")"));
  }
  if (now < child.restart_at) return absl::OkStatus();
  return StartChild(child);
}

std::map<std::string, pid_t> Crew::processes() const {
  std::map<std::string, pid_t> processes;
  const auto add = [&processes](const Child& child) {
    if (child.process.has_value()) processes[child.name] = child.process->pid();
  };
  add(chief_);
  for (const Child& shard : shards_) add(shard);
  for (const Child& worker : workers_) add(worker);
  return processes;
}

std::optional<Ending> Crew::chief_ending() {
  if (!chief_.process.has_value()) return std::nullopt;
  const std::optional<Ending> ending = chief_.process->Poll();
  return ending && ending->signal == 0 ? ending : std::nullopt;
}

std::vector<std::string> Crew::Stop(absl::Duration grace) {
  std::vector<Child*> others = {&chief_};
  for (Child& shard : shards_) others.push_back(&shard);
  std::vector<Child*> workers;
  for (Child& worker : workers_) workers.push_back(&worker);
  std::vector<std::string> killed;
  for (const auto& group : {workers, others}) {
    for (Child* child : group) {
      if (child->process.has_value()) child->process->Signal(SIGTERM);
    }
    const absl::Time deadline = absl::Now() + grace / 2;
    for (Child* child : group) {
      if (!child->process.has_value()) continue;
      if (!child->process->WaitFor(deadline - absl::Now()).has_value()) {
        killed.push_back(child->name);
        child->process->Signal(SIGKILL);
      }
    }
  }
  // Nobody listens on these ports any more, and other processes may take them.
  for (const Child* child : workers) unlink(folder_.Ports(child->name).c_str());
  for (const Child* child : others) unlink(folder_.Ports(child->name).c_str());
  return killed;
}

}  // namespace capstan::cli
