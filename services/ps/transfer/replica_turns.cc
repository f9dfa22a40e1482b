#include "ps/transfer/replica_turns.h"

#include <algorithm>

#include "ps/transfer/replica_failure.h"

namespace capstan::ps {

std::vector<std::shared_ptr<ReplicaStream>> ReplicaTurns::Take(
    const std::vector<std::shared_ptr<ReplicaStream>>& streams, absl::Time now) {
  std::erase_if(turns_, [&streams](const auto& turn) {
    return std::none_of(streams.begin(), streams.end(), [&turn](const auto& stream) {
      return stream->name().number == turn.first;
    });
  });
  std::vector<std::shared_ptr<ReplicaStream>> due;
  for (const std::shared_ptr<ReplicaStream>& stream : streams) {
    if (stream->target().address.empty()) continue;  // The view does not name the backup's process.
    Turn& turn = turns_[stream->name().number];
    if (turn.calling || now < turn.next || stream->idle()) continue;
    turn.calling = true;
    due.push_back(stream);
  }
  return due;
}

ReplicaTurns::Heard ReplicaTurns::Hear(ReplicaStream& stream,
                                       const absl::StatusOr<v1::ReplicateReply>& reply,
                                       bool in_pieces, absl::Time now) {
  const bool on = reply.ok() && stream.Taken(*reply);
  const auto found = turns_.find(stream.name().number);
  if (found == turns_.end()) return {};  // The stream is no more.
  Turn& turn = found->second;
  turn.calling = false;
  if (on) {
    turn.wait = absl::ZeroDuration();
    return {};
  }
  // A reply may make no progress: the backup may not have followed the view that made the pair yet.
  bool tells = !reply.ok() && turn.wait == absl::ZeroDuration();
  if (!reply.ok() && IsOfEarlierRelease(reply.status(), in_pieces)) {
    // A backup that did not answer for another reason before may report this only now.
    tells = !turn.told_release;
    turn.told_release = true;
  }
  turn.wait = std::clamp(2 * turn.wait, kFirstWait, kLongestWait);
  turn.next = now + turn.wait;
  return {.tells = tells, .wait = turn.wait};
}

}  // namespace capstan::ps
