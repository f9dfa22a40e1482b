#include "cli/crew.h"

#include <signal.h>
#include <unistd.h>

#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "capstan/base/ports_file.h"
#include "capstan/base/status.h"
#include "cli/format.h"

namespace capstan::cli {
namespace {

constexpr char kLoopback[] = "127.0.0.1:";
// Planning may read compressed data once to count records.
constexpr absl::Duration kChiefStart = absl::Minutes(2);
constexpr absl::Duration kStartPollPeriod = absl::Milliseconds(20);

void Extend(std::vector<std::string>& argv, std::vector<std::string> more) {
  argv.insert(argv.end(), std::make_move_iterator(more.begin()),
              std::make_move_iterator(more.end()));
}

}  // namespace

Crew::Crew(CrewOptions options, const RunFolder& folder, const Shutdown& shutdown)
    : options_(std::move(options)), folder_(folder), shutdown_(shutdown) {}

Crew::Member Crew::MakeMember(const std::string& program, const std::string& name) const {
  Member member;
  member.name = name;
  member.argv = {options_.programs + "/" + program,
                 "--health-port",
                 "0",
                 "--metrics-port",
                 "0",
                 "--ports-file",
                 folder_.Ports(name)};
  return member;
}

absl::Status Crew::StartMember(Member& member) {
  absl::StatusOr<Process> process =
      Process::Start({.argv = member.argv, .log_path = folder_.Log(member.name)});
  if (!process.ok()) return process.status();
  member.process = *std::move(process);
  member.started = absl::Now();
  member.restart_at = absl::InfiniteFuture();
  return absl::OkStatus();
}

absl::Status Crew::Blame(const Member& member, const std::string& what) {
  culprit_log_ = folder_.Log(member.name);
  return absl::AbortedError(absl::StrCat(member.name, " ", what));
}

std::vector<std::string> Crew::ChiefArguments(const std::string& listen) const {
  std::vector<std::string> arguments = {"--job",           options_.job,
                                        "--listen",        listen,
                                        "--shards",        absl::StrCat(options_.shards),
                                        "--exit-when-done"};
  for (const std::string& setting : options_.overrides) Extend(arguments, {"--set", setting});
  return arguments;
}

absl::Status Crew::StartChief() {
  chief_ = MakeMember("chief", "chief");
  Extend(chief_.argv, ChiefArguments(absl::StrCat(kLoopback, options_.chief_port)));
  if (options_.fresh) Extend(chief_.argv, {"--fresh"});
  if (!options_.from.empty()) Extend(chief_.argv, {"--from", options_.from});
  if (options_.take_over) Extend(chief_.argv, {"--take-over"});
  return StartMember(chief_);
}

absl::Status Crew::AwaitChief() {
  const absl::Time deadline = absl::Now() + kChiefStart;
  while (absl::Now() < deadline) {
    if (absl::StatusOr<Ports> ports = ReadPortsFile(folder_.Ports("chief")); ports.ok()) {
      chief_address_ = absl::StrCat(kLoopback, ports->data);
      // Started again it goes on with this job, where the others look for it.
      chief_.argv = MakeMember("chief", "chief").argv;
      Extend(chief_.argv, ChiefArguments(chief_address_));
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
    Member shard = MakeMember("ps", absl::StrCat("ps-", i));
    Extend(shard.argv, {"--chief", chief_address_, "--index", absl::StrCat(i), "--listen",
                        absl::StrCat(kLoopback, 0)});
    shards_.push_back(std::move(shard));
    CAPSTAN_RETURN_IF_ERROR(StartMember(shards_.back()));
  }
  for (int i = 0; i < options_.workers; ++i) {
    Member worker = MakeMember("worker", absl::StrCat("worker-", i));
    Extend(worker.argv, {"--chief", chief_address_, "--name", worker.name, "--host", "127.0.0.1"});
    workers_.push_back(std::move(worker));
    CAPSTAN_RETURN_IF_ERROR(StartMember(workers_.back()));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<std::string>> Crew::LookAfter() {
  std::vector<std::string> news;
  // Once the chief has ended the job is over, and others may well notice it and end.
  if (chief_ending().has_value()) return news;
  CAPSTAN_RETURN_IF_ERROR(LookAfterMember(chief_, /*needed=*/true, news));
  for (Member& shard : shards_) {
    CAPSTAN_RETURN_IF_ERROR(LookAfterMember(shard, /*needed=*/true, news));
  }
  for (Member& worker : workers_) {
    CAPSTAN_RETURN_IF_ERROR(LookAfterMember(worker, !options_.keep_going, news));
  }
  return news;
}

absl::Status Crew::LookAfterMember(Member& member, bool needed, std::vector<std::string>& news) {
  const absl::Time now = absl::Now();
  if (member.process.has_value()) {
    const auto ending = member.process->Poll();
    if (!ending.has_value()) return absl::OkStatus();
    const std::string died = absl::StrCat("died: ", ending->ToString());
    member.process.reset();
    const auto delay = member.restarts.OnDeath(now - member.started);
    if (!delay.has_value() && needed) {
      return Blame(member, absl::StrCat(died, ", and so again and again"));
    }
    member.restart_at = delay.has_value() ? now + *delay : absl::InfiniteFuture();
    const std::string log = folder_.Log(member.name);
    news.push_back(
        absl::StrCat(member.name, " ", died,
                     delay.has_value() ? "; it is started again" : "; the others go on without it",
                     " (", log, ")"));
  }
  if (now < member.restart_at) return absl::OkStatus();
  return StartMember(member);
}

std::optional<Ending> Crew::chief_ending() {
  if (!chief_.process.has_value()) return std::nullopt;
  const std::optional<Ending> ending = chief_.process->Poll();
  return ending && ending->signal == 0 ? ending : std::nullopt;
}

std::vector<std::string> Crew::Stop(absl::Duration grace) {
  std::vector<Member*> others = {&chief_};
  for (Member& shard : shards_) others.push_back(&shard);
  std::vector<Member*> workers;
  for (Member& worker : workers_) workers.push_back(&worker);
  std::vector<std::string> killed;
  for (const auto& group : {workers, others}) {
    for (Member* member : group) {
      if (member->process.has_value()) member->process->Signal(SIGTERM);
    }
    const absl::Time deadline = absl::Now() + grace / 2;
    for (Member* member : group) {
      if (!member->process.has_value()) continue;
      if (!member->process->WaitFor(deadline - absl::Now()).has_value()) {
        killed.push_back(member->name);
        member->process->Signal(SIGKILL);
      }
    }
  }
  // Nobody listens there any more, and others may.
  for (const Member* member : workers) unlink(folder_.Ports(member->name).c_str());
  for (const Member* member : others) unlink(folder_.Ports(member->name).c_str());
  return killed;
}

}  // namespace capstan::cli
