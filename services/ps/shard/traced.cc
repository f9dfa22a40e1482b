#include "ps/shard/traced.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "capstan/base/trace.h"

namespace capstan::ps {
namespace {

bool IsTaken(v1::Outcome outcome) {
  return outcome == v1::OUTCOME_APPLIED || outcome == v1::OUTCOME_QUEUED ||
         outcome == v1::OUTCOME_DROPPED || outcome == v1::OUTCOME_SETTLED;
}

bool IsTaken(const v1::PartitionOutcome& outcome) {
  return IsTaken(outcome.dense()) || IsTaken(outcome.sparse());
}

std::string NameOf(const PushMessage& push) {
  return absl::StrCat(push.head().stream().stream(), ":", push.head().stream().seq());
}

}  // namespace

void TracePushed(const PushShare& share, const v1::PartitionOutcome& outcome) {
  if (!trace::On() || !share.push->head().has_stream() || !IsTaken(outcome)) return;
  trace::Write("pushed", {{"partition", outcome.partition()}, {"push", NameOf(*share.push)}});
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

}  // namespace capstan::ps
