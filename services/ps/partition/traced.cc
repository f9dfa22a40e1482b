#include "ps/partition/traced.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "capstan/base/trace.h"

namespace capstan::ps {
namespace {

bool IsNew(v1::Outcome outcome) {
  return outcome == v1::OUTCOME_APPLIED || outcome == v1::OUTCOME_QUEUED ||
         outcome == v1::OUTCOME_DROPPED;
}

// Returns true if the ledger had not settled the push before.
bool IsNew(const v1::PartitionOutcome& outcome) {
  return IsNew(outcome.dense()) || IsNew(outcome.sparse());
}

bool IsTaken(const v1::PartitionOutcome& outcome) {
  return IsNew(outcome) || outcome.dense() == v1::OUTCOME_SETTLED ||
         outcome.sparse() == v1::OUTCOME_SETTLED;
}

std::string NameOf(const PushMessage& push) {
  return absl::StrCat(push.head().stream().stream(), ":", push.head().stream().seq());
}

}  // namespace

void TraceCloned(PartitionIndex partition, ViewEpoch move, bool delta) {
  trace::Write(delta ? "delta" : "cloned",
               {{"partition", Raw(partition)}, {"term", move.term}, {"n", move.n}});
}

void TraceMarked(PartitionIndex partition, const std::string& checkpoint) {
  if (!trace::On()) return;
  trace::Write("marked", {{"partition", Raw(partition)}, {"checkpoint", checkpoint}});
}

void TracePushed(const PushShare& share, const v1::PartitionOutcome& outcome) {
  if (!trace::On() || !share.push->head().has_stream() || !IsTaken(outcome)) return;
  const v1::StreamPush& stream = share.push->head().stream();
  trace::Write(
      "pushed",
      {{"partition", outcome.partition()},
       {"push", NameOf(*share.push)},
       {"again", IsNew(outcome) ? 0 : 1},
       {"generation", absl::StrCat(stream.generation().term(), ".", stream.generation().count())},
       {"low", stream.low_watermark()}});
}

void TraceReplayed(const PushShare& share, ViewEpoch pair) {
  if (!trace::On() || !share.push->head().has_stream()) return;
  trace::Write("replayed", {{"partition", share.push->partitions()[share.place].partition},
                            {"push", NameOf(*share.push)},
                            {"term", pair.term},
                            {"n", pair.n}});
}

void TraceAnswered(const PushMessage& push, const v1::PushReply& reply) {
  if (!trace::On() || !push.head().has_stream()) return;
  for (const v1::PartitionOutcome& outcome : reply.partitions()) {
    if (!IsTaken(outcome)) continue;
    trace::Write("answered", {{"partition", outcome.partition()}, {"push", NameOf(push)}});
  }
}

void TraceShut(PartitionIndex partition, StreamId stream, uint64_t batches) {
  if (!trace::On()) return;
  trace::Write("shut",
               {{"partition", Raw(partition)}, {"stream", stream.value}, {"batches", batches}});
}

void TraceLoaded(PartitionIndex partition, Timeline timeline, const std::string& checkpoint) {
  if (!trace::On()) return;
  trace::Write(
      "loaded",
      {{"partition", Raw(partition)}, {"timeline", Raw(timeline)}, {"checkpoint", checkpoint}});
}

}  // namespace capstan::ps
