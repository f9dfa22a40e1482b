// The texts of a simulated world: what a step is called, and the line by which states are compared.
#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tests/simulation/world.h"

namespace capstan::simulation {

// Tickets do not show: two worlds that differ in them only behave alike.
std::string SmallWorld::TextOf(const worker::Action& request) {
  if (const auto* pull = std::get_if<worker::SendPull>(&request)) {
    return absl::StrCat("pull s", Raw(pull->shard), " b", pull->batch, " c", pull->clock, " r",
                        pull->lane ? pull->lane->round : 0);
  }
  if (const auto* push = std::get_if<worker::SendPush>(&request)) {
    return absl::StrCat("push s", Raw(push->shard), " b", push->batch, " c", push->clock,
                        push->empty ? " empty" : "", " r", push->stage ? push->stage->round : 0,
                        " low ", push->stream ? push->stream->low_watermark : 0);
  }
  if (const auto* clock = std::get_if<worker::SendClock>(&request)) {
    return absl::StrCat("clock s", Raw(clock->shard), " c", clock->clock);
  }
  if (std::holds_alternative<worker::SendOpen>(request)) return "open";
  if (const auto* report = std::get_if<worker::SendReport>(&request)) {
    return absl::StrCat("report r", report->round, report->end_of_data ? " end" : "");
  }
  return "?";
}

std::string SmallWorld::Describe(const Step& step) const {
  static constexpr const char* kNames[] = {"deliver", "compute", "lease",   "news",      "quorum",
                                           "close",   "barrier", "finish",  "stray",     "release",
                                           "hold",    "drain",   "timeout", "duplicate", "crash"};
  std::string text =
      absl::StrCat(kNames[static_cast<int>(step.kind)], " ", step.index, " ", step.detail);
  const bool message = step.kind == Step::Kind::kDeliver || step.kind == Step::Kind::kStray ||
                       step.kind == Step::Kind::kTimeout || step.kind == Step::Kind::kDuplicate;
  if (message) {
    const Message& m = messages_[step.index];
    absl::StrAppend(&text, ": h", m.runner, " ", TextOf(m.request));
  }
  return text;
}

void SmallWorld::AppendPartition(const Partition& partition, std::string& text) {
  absl::StrAppend(&text, " P", partition.machine.DebugString());
  for (int i = 0; i < kParts; ++i) {
    for (const auto& [record, times] : partition.applied[i]) {
      absl::StrAppend(&text, " ", record.first, ".", record.second, "x", times);
    }
    for (const auto& [work, fence] : partition.fences[i])
      absl::StrAppend(&text, " f", work, "g", fence.term, ".", fence.count);
  }
}

std::string SmallWorld::TextOf(const Runner& h) {
  std::string text = absl::StrCat(
      "H", h.work, "g", h.generation.count, h.alive ? " " : " gone ",
      h.computing.empty() ? "" : absl::StrCat("computing ", absl::StrJoin(h.computing, ",")));
  // The rest of a runner that is gone has no future.
  if (h.alive)
    absl::StrAppend(&text, h.machine().DebugString(), h.clock.DebugString(), h.computations);
  return text;
}

std::string SmallWorld::TextOf(const Shard& shard) const {
  std::string text =
      absl::StrCat("S", shard.finished, shard.quorum_stale, "l", shard.log.last_round(), "n",
                   shard.counts.round(), ".", shard.counts.counted(), ".", shard.counts.ended(),
                   "c", absl::StrJoin(shard.closed, ","));
  if (options_->ssp()) absl::StrAppend(&text, shard.clocks.DebugString());
  for (const Partition& p : shard.partitions) AppendPartition(p, text);
  return text;
}

std::string SmallWorld::Text() const {
  std::string text;
  for (size_t i = 0; i < runners_.size(); ++i) {
    const auto make = [](const Runner& runner) { return TextOf(runner); };
    absl::StrAppend(&text, runners_.TextOf(i, make), "\n");
  }
  std::vector<std::string> messages;
  for (const Message& m : messages_) {
    messages.push_back(absl::StrCat("M", m.runner, m.orphan ? "o" : "", m.parked ? "p" : "",
                                    m.computation, TextOf(m.request)));
  }
  std::sort(messages.begin(), messages.end());
  absl::StrAppend(&text, absl::StrJoin(messages, "\n"), "\n",
                  coordinator_ ? coordinator_->DebugString() : "");
  for (size_t i = 0; i < shards_.size(); ++i) {
    const auto make = [this](const Shard& shard) { return TextOf(shard); };
    absl::StrAppend(&text, "\n", shards_.TextOf(i, make));
  }
  for (const auto& [key, handle] : computed_)
    absl::StrAppend(&text, " ", key.first, "/", key.second, "=", handle);
  for (const Work& work : works_) {
    absl::StrAppend(&text, "\nW", work.runner ? static_cast<int>(*work.runner) : -1, " ",
                    work.progress, " ", work.reported, work.done);
  }
  absl::StrAppend(&text, "\nB", budgets_.timeouts, budgets_.duplicates, budgets_.crashes,
                  budgets_.drains, budgets_.holds, static_cast<int>(barrier_), budgets_.releases);
  return text;
}

}  // namespace capstan::simulation
