#include "ps/partition/traced_rounds.h"

#include <algorithm>
#include <string>
#include <variant>

#include "absl/strings/str_cat.h"
#include "capstan/base/trace.h"

namespace capstan::ps {
namespace {

std::string NamesOf(const RoundCommit& commit) {
  std::string names;
  for (const ClosedLane& lane : commit.lanes) {
    absl::StrAppend(&names, names.empty() ? "" : " ", Raw(lane.lane), ":", lane.generation.term,
                    ".", lane.generation.count);
  }
  return names;
}

// Counts the gradients of the part that has most of them: a synchronous job may have one part or
// both.
uint64_t GradientsOf(uint64_t round, const Decision& decision) {
  uint64_t most = 0;
  for (const Update& update : decision.updates) {
    if (update.round != round) continue;
    most = std::max<uint64_t>(most, update.added + update.contributions.size());
  }
  return most;
}

}  // namespace

// ---- by the coordinator ----

void TraceCoordinates(uint64_t timeline, const v1::UpdatePolicy& policy, uint64_t closed) {
  trace::Write("coordinates", {{"timeline", timeline},
                               {"lanes", policy.lanes()},
                               {"backup_workers", policy.backup_workers()},
                               {"closed", closed}});
}

void TraceReported(const v1::ReportLaneRequest& report, v1::ReportLaneReply::Answer answer) {
  if (!trace::On() || answer != v1::ReportLaneReply::ANSWER_COUNTED) return;
  trace::Write(report.end_of_data() ? "ended" : "counted",
               {{"round", report.round()},
                {"lane", report.lane()},
                {"term", report.generation().term()},
                {"count", report.generation().count()}});
}

void TraceOpenRound(uint64_t before, const RoundCommit& last, const CoordinatorAnswers& answers) {
  if (!trace::On()) return;
  if (last.round == before) {
    trace::Write("closed", {{"round", last.round}, {"lanes", NamesOf(last)}});
  }
  for (const CoordinatorAnswer& each : answers) {
    const auto* const opened = std::get_if<OpenAnswer>(&each.answer);
    if (opened == nullptr || opened->answer != v1::OpenRoundReply::ANSWER_OPEN) continue;
    trace::Write("opened", {{"round", opened->round},
                            {"lane", Raw(opened->lane)},
                            {"term", opened->generation.term},
                            {"count", opened->generation.count}});
  }
}

// ---- by a partition ----

void TracePulled(PartitionIndex partition, const v1::PullRequest& pull, uint64_t passed) {
  if (!trace::On() || pull.evaluation() || pull.round() == 0) return;
  trace::Write("pulled", {{"partition", Raw(partition)},
                          {"round", pull.round()},
                          {"passed", passed},
                          {"trainer", pull.header().trainer()}});
}

void TraceStaged(const PushShare& share, const v1::PartitionOutcome& outcome) {
  const bool staged =
      outcome.dense() == v1::OUTCOME_STAGED || outcome.sparse() == v1::OUTCOME_STAGED;
  if (!trace::On() || !staged) return;
  const v1::LaneStage& stage = share.push->head().stage();
  trace::Write("staged", {{"partition", outcome.partition()},
                          {"round", stage.round()},
                          {"lane", stage.lane()},
                          {"term", stage.generation().term()},
                          {"count", stage.generation().count()},
                          {"trainer", share.push->head().header().trainer()}});
}

void TraceAdded(PartitionIndex partition, uint64_t round, const Decision& decision) {
  if (!trace::On()) return;
  for (const Addition& addition : decision.additions) {
    trace::Write("added", {{"partition", Raw(partition)},
                           {"round", round},
                           {"lane", Raw(addition.lane)},
                           {"term", addition.generation.term},
                           {"count", addition.generation.count}});
  }
}

void TracePassed(PartitionIndex partition, uint64_t before, uint64_t after,
                 std::span<const RoundCommit> commits, const Decision& decision) {
  if (!trace::On()) return;
  for (const RoundCommit& commit : commits) {
    if (commit.round <= before || commit.round > after) continue;
    trace::Write("passed", {{"partition", Raw(partition)},
                            {"round", commit.round},
                            {"lanes", NamesOf(commit)},
                            {"gradients", GradientsOf(commit.round, decision)}});
  }
}

}  // namespace capstan::ps
