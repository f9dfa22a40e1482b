#include "capstan/consistency/stream_ledger.h"

#include <algorithm>
#include <bit>

namespace capstan {

LedgerAnswer StreamLedger::Look(const StreamPush& push, absl::Time now) {
  if (closed_.Contains(push.stream)) return LedgerAnswer::kSettled;
  auto found = streams_.find(push.stream);
  if (found == streams_.end()) {
    if (push.stream.is_session() && sessions_ >= kMaxSessions) return LedgerAnswer::kFull;
    if (!push.stream.is_session() && push.generation.term < told_by_) {
      return LedgerAnswer::kOldGeneration;
    }
    sessions_ += push.stream.is_session() ? 1 : 0;
    found = streams_.try_emplace(push.stream).first;
    // The chief knows nothing of sessions, so any of their gaps may be a loss.
    if (alone_ && push.stream.is_session()) found->second.suspect_below = kAll;
  }
  Entry& entry = found->second;
  if (push.generation < entry.generation) return LedgerAnswer::kOldGeneration;
  entry.generation = push.generation;
  if (push.stream.is_session()) entry.used = now;
  // A client that sends a wrong low watermark must not settle the very push that it sends.
  RaisePrefix(entry, std::min(push.low_watermark, push.seq));
  // Either this push was unacknowledged when the partition was lost, or it is newer. So at that
  // time the client was at most one window beyond it.
  if (entry.suspect_below == kAll) entry.suspect_below = push.seq + kWindow;
  if (push.seq < entry.prefix) return LedgerAnswer::kSettled;
  const uint64_t place = push.seq - entry.prefix;
  if (place >= kWindow) return LedgerAnswer::kOutsideWindow;
  return (entry.above >> place) & 1 ? LedgerAnswer::kSettled : LedgerAnswer::kFresh;
}

void StreamLedger::Settle(const StreamPush& push) {
  Entry& entry = streams_.at(push.stream);
  entry.above |= uint64_t{1} << (push.seq - entry.prefix);
  RaisePrefix(entry, entry.prefix);
}

// Raises the prefix to at least `to`, and further over the settled pushes directly above.
void StreamLedger::RaisePrefix(Entry& entry, uint64_t to) {
  if (to > entry.prefix) {
    const uint64_t steps = to - entry.prefix;
    const uint64_t passed =
        steps >= kWindow ? entry.above : entry.above & ((uint64_t{1} << steps) - 1);
    if (const uint64_t end = std::min(to, entry.suspect_below); end > entry.prefix) {
      const uint64_t gap = end - entry.prefix;
      const uint64_t settled = gap >= kWindow ? passed : passed & ((uint64_t{1} << gap) - 1);
      lost_ += gap - static_cast<uint64_t>(std::popcount(settled));
    }
    entry.above = steps >= kWindow ? 0 : entry.above >> steps;
    entry.prefix = to;
  }
  const int run = std::countr_one(entry.above);
  entry.above = run == static_cast<int>(kWindow) ? 0 : entry.above >> run;
  entry.prefix += static_cast<uint64_t>(run);
}

void StreamLedger::Close(StreamId stream, uint64_t batches) {
  if (stream.is_session() || closed_.Contains(stream)) return;
  Entry entry;
  if (auto found = streams_.find(stream); found != streams_.end()) {
    entry = found->second;
    streams_.erase(found);
  }
  RaisePrefix(entry, batches);
  closed_.Insert(stream);
}

void StreamLedger::Hear(const StreamFacts& told) {
  told_by_ = told.term;
  const Entry unheard{.suspect_below = kAll};
  for (auto& [stream, entry] : streams_) entry.suspect_below = kAll;
  for (const StreamFacts::Open& open : told.open) {
    if (closed_.Contains(open.stream)) continue;
    Entry& entry = streams_.try_emplace(open.stream, unheard).first->second;
    entry.generation = std::max(entry.generation, open.generation);
    RaisePrefix(entry, open.prefix);
  }
  for (const StreamFacts::Closed& closed : told.closed) {
    if (closed_.Contains(closed.stream)) continue;
    streams_.try_emplace(closed.stream, unheard);
    Close(closed.stream, closed.batches);
  }
}

std::vector<StreamId> StreamLedger::ExpireSessions(absl::Time now, absl::Duration ttl) {
  std::vector<StreamId> expired;
  if (sessions_ == 0) return expired;
  for (const auto& [stream, entry] : streams_) {
    if (stream.is_session() && now - entry.used > ttl) expired.push_back(stream);
  }
  for (const StreamId session : expired) ForgetSession(session);
  return expired;
}

void StreamLedger::ForgetSession(StreamId session) {
  if (session.is_session()) sessions_ -= streams_.erase(session);
}

LedgerState StreamLedger::state() const {
  LedgerState state{{}, closed_.intervals(), lost_, alone_, told_by_};
  state.streams.reserve(streams_.size());
  for (const auto& [stream, entry] : streams_) {
    state.streams.push_back(
        {stream, entry.prefix, entry.above, entry.generation, entry.suspect_below});
  }
  std::sort(state.streams.begin(), state.streams.end(),
            [](const StreamEntry& a, const StreamEntry& b) { return a.stream < b.stream; });
  return state;
}

StreamLedger StreamLedger::FromState(const LedgerState& state, absl::Time now) {
  StreamLedger ledger;
  ledger.lost_ = state.lost;
  ledger.alone_ = state.alone;
  ledger.told_by_ = state.told_by;
  ledger.closed_ = ClosedStreams::FromIntervals(state.closed);
  for (const StreamEntry& entry : state.streams) {
    ledger.streams_[entry.stream] = {.prefix = entry.prefix,
                                     .above = entry.above,
                                     .generation = entry.generation,
                                     .used = now,
                                     .suspect_below = entry.suspect_below};
    ledger.sessions_ += entry.stream.is_session() ? 1 : 0;
  }
  return ledger;
}

StreamLedger StreamLedger::RecoverPartially(const LedgerState& state, const StreamFacts& told,
                                            absl::Time now) {
  StreamLedger ledger = FromState(state, now);
  ledger.alone_ = true;
  ledger.Hear(told);
  return ledger;
}

}  // namespace capstan
