// The pulls of a lease. A lane's pulls wait for the lane's turn (LaneTurns): a pull needs a copy of
// the dense parameters to write into, and only some lanes at a time may have one.
#ifndef CAPSTAN_WORKER_MACHINES_LANE_PULLS_H_
#define CAPSTAN_WORKER_MACHINES_LANE_PULLS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "absl/functional/any_invocable.h"
#include "absl/functional/function_ref.h"
#include "capstan/base/ids.h"
#include "worker/machines/lane_turns.h"
#include "worker/machines/runner_machine.h"

namespace capstan::worker {

// Thread-compatible.
class LanePulls {
 public:
  // `lane`: the lane that the lease is on, which takes turns until Leave(); nullopt: the lease is
  // on a task. `pull` carries out one pull; it must not call methods of this object. `turns` must
  // outlive this object.
  LanePulls(LaneTurns& turns, std::optional<LaneIndex> lane,
            absl::AnyInvocable<void(const SendPull&)> pull);
  ~LanePulls() { Leave(); }
  LanePulls(const LanePulls&) = delete;
  LanePulls& operator=(const LanePulls&) = delete;

  // Carries out `action` at once if it is no lane's, or the lane has its turn. Otherwise keeps it
  // until the turn comes; of several pulls of one batch from one shard only the last is kept.
  // REQUIRES: pulls of a lane come before Leave().
  void Send(const SendPull& action);
  // Ends the lane's turn, or its waiting for one, and forgets the pulls that wait.
  void EndTurn();
  // Nobody has to wait for a turn of the lane in `round`, nor in rounds before it.
  void Pass(uint64_t round) { turns_.Pass(this, round); }
  // Forgets those waiting pulls for which wanted(batch, shard) is false.
  void Keep(absl::FunctionRef<bool(uint64_t batch, ShardIndex shard)> wanted);
  // This lease does not work on the lane any longer. Does nothing when called again, or without a
  // lane.
  void Leave() { turns_.Leave(this); }

 private:
  void BeginTurn();

  LaneTurns& turns_;
  absl::AnyInvocable<void(const SendPull&)> pull_;
  bool in_turn_ = false;
  std::map<std::pair<uint64_t, ShardIndex>, SendPull> waiting_;  // By batch and shard.
};

}  // namespace capstan::worker

#endif  // CAPSTAN_WORKER_MACHINES_LANE_PULLS_H_
