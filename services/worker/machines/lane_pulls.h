// The pulls of a lease. Those of a lane are carried out in its turn (LaneTurns): for what is pulled
// a copy of the dense parameters is lent, and only so many lanes may have one.
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
  // `lane`: that of the lease, which is held until Leave(); nothing: it is no lane's. `pull`
  // carries one out; it calls no method of this object. `turns` must outlive it.
  LanePulls(LaneTurns& turns, std::optional<LaneIndex> lane,
            absl::AnyInvocable<void(const SendPull&)> pull);
  ~LanePulls() { Leave(); }
  LanePulls(const LanePulls&) = delete;
  LanePulls& operator=(const LanePulls&) = delete;

  // Pulls at once, unless it is a lane's and not its turn: then when that comes, and only the last
  // pull of each batch from each shard. REQUIRES: one of a lane comes before Leave().
  void Send(const SendPull& action);
  // The turn is over, or is not waited for any longer; the pulls that wait are forgotten.
  void EndTurn();
  // The lane takes no turn in this round, nor in those before it.
  void Pass(uint64_t round) { turns_.Pass(this, round); }
  // Forgets the pulls that wait and are not wanted any more.
  void Keep(absl::FunctionRef<bool(uint64_t batch, ShardIndex shard)> wanted);
  // The lane is not held any longer. Again, or without a lane, nothing happens.
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
