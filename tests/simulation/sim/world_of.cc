// The worlds of seeds.
#include <algorithm>
#include <cstdint>
#include <iterator>

#include "capstan/base/hash.h"
#include "tests/simulation/sim/world.h"

namespace capstan::sim {
namespace {

// Some gradients of a shard: they have some hundred bytes each.
constexpr uint32_t kMostWaitingBytes = 1000;

class Dice {
 public:
  explicit Dice(uint64_t seed) : seed_(seed) {}
  uint32_t Below(uint32_t n) { return static_cast<uint32_t>(Draw(seed_, 2, next_++) % n); }
  bool OneIn(uint32_t n) { return Below(n) == 0; }

 private:
  const uint64_t seed_;
  uint64_t next_ = 0;
};

JobOptions DrawJob(Dice& dice) {
  JobOptions job;
  job.policy = kAllPolicies[dice.Below(std::size(kAllPolicies))];
  job.partitions = 2 + dice.Below(4);
  job.tasks = 4 + dice.Below(6);
  job.epochs = 1 + dice.Below(2);
  job.lanes = 2 + dice.Below(4);
  job.staleness = dice.Below(3);
  job.eval_tasks = dice.OneIn(3) ? 2 : 0;
  job.early_stop = job.eval_tasks > 0 && job.tasks % 2 == 0;
  if (dice.OneIn(5)) return job;
  job.uri = "sim://jobs";
  job.checkpoint_seconds = dice.OneIn(5) ? 0 : 1 + dice.Below(4);
  job.max_deltas = dice.Below(4);
  return job;
}

Troubles DrawTroubles(Dice& dice, bool durable) {
  Troubles troubles;
  troubles.between = absl::Milliseconds(200 + 200 * dice.Below(6));
  troubles.weather.lose = 0.02 * dice.Below(4);
  troubles.weather.repeat = 0.03 * dice.Below(3);
  troubles.weather.dawdle = 0.03 * dice.Below(4);
  troubles.kill_workers = dice.OneIn(2);
  troubles.drain_workers = dice.OneIn(2);
  troubles.freeze_workers = dice.OneIn(2);
  troubles.kill_shards = dice.OneIn(3);
  troubles.drain_shards = dice.OneIn(4);
  troubles.freeze_shards = dice.OneIn(3);
  troubles.kill_chief = dice.OneIn(3);
  troubles.freeze_chief = dice.OneIn(3);
  troubles.kill_all = dice.OneIn(6);
  troubles.cut_links = dice.OneIn(2);
  if (!durable) return troubles;
  troubles.replace_chief = dice.OneIn(4);
  troubles.store_away = dice.OneIn(4);
  troubles.store_weather.fail = 0.03 * dice.Below(3);
  troubles.store_weather.lose = 0.03 * dice.Below(3);
  troubles.store_weather.late = 0.03 * dice.Below(3);
  troubles.store_weather.dawdle = 0.03 * dice.Below(4);
  return troubles;
}

void DrawDamage(Dice& dice, WorldOptions& world) {
  const bool streams = world.job.policy < Policy::kSync;
  if (streams && dice.OneIn(2)) world.job.recovery = v1::RECOVERY_PARTIAL;
  world.troubles.grow = dice.OneIn(4);
  world.troubles.store_weather.damage = dice.OneIn(4) ? 0.03 : 0;
}

void DrawData(Dice& dice, JobOptions& job) {
  job.pieces = dice.OneIn(2) ? 1 : 2 + dice.Below(3);
  constexpr v1::StaleGradients kStale[] = {v1::STALE_GRADIENTS_UNSPECIFIED,
                                           v1::STALE_GRADIENTS_SCALE, v1::STALE_GRADIENTS_DROP};
  job.stale = kStale[dice.Below(std::size(kStale))];
  job.eval_fails = job.eval_tasks > 0 && dice.OneIn(3);
}

}  // namespace

WorldOptions WorldOf(uint64_t seed) {
  Dice dice(seed);
  WorldOptions world;
  world.seed = seed;
  world.job = DrawJob(dice);
  world.shards = 1 + dice.Below(3);
  world.workers = 1 + dice.Below(4);
  world.troubles = DrawTroubles(dice, !world.job.uri.empty());
  if (!world.job.uri.empty()) DrawDamage(dice, world);
  world.troubles.stall_data = dice.OneIn(3);
  DrawData(dice, world.job);
  world.troubles.false_words = dice.OneIn(3);
  if (world.job.policy == Policy::kSync && dice.OneIn(2)) world.job.max_steps = 1 + dice.Below(6);
  const bool all_lanes = world.job.policy == Policy::kSync || world.job.policy == Policy::kHybrid;
  if (all_lanes && dice.OneIn(2)) world.job.waiting_bytes = 1 + dice.Below(kMostWaitingBytes);
  return world;
}

WorldOptions MovesOf(uint64_t seed) {
  WorldOptions world = WorldOf(seed);
  Dice dice(~seed);
  world.job.partitions = 3 + dice.Below(4);
  world.job.tasks = 12 + dice.Below(12);
  world.job.epochs = 1;
  world.job.max_steps = 0;
  world.shards = 1 + dice.Below(3);
  world.workers = 2 + dice.Below(2);
  Troubles& troubles = world.troubles;
  troubles.grow = troubles.stall_data = troubles.false_words = false;
  troubles.join_shards = true;
  troubles.leave_shards = !dice.OneIn(4);
  troubles.rebalance = !dice.OneIn(4);
  troubles.drain_shards = dice.OneIn(2);
  // So often that moves are met by them, and so seldom that moves come to their end.
  troubles.between = absl::Milliseconds(300 + 200 * dice.Below(5));
  return world;
}

WorldOptions BackupsOf(uint64_t seed) {
  WorldOptions world = MovesOf(seed);
  Dice dice(seed ^ (~uint64_t{0} / 3));
  world.job.replicas = 1;
  world.job.partitions = 3 + dice.Below(4);
  world.job.tasks = 24 + dice.Below(16);
  world.job.checkpoint_seconds = dice.OneIn(3) ? 0 : 3 + dice.Below(8);
  world.shards = dice.OneIn(4) ? 2 : 3 + dice.Below(2);
  world.shards = std::min(world.shards, world.job.partitions);
  Troubles& troubles = world.troubles;
  troubles.drain_shards = dice.OneIn(6);
  troubles.kill_all = dice.OneIn(12);
  troubles.freeze_chief = dice.OneIn(6);
  troubles.replace_chief = !world.job.uri.empty() && dice.OneIn(6);
  troubles.store_away = !world.job.uri.empty() && dice.OneIn(8);
  const uint32_t blows = 1 + dice.Below(7);  // Bits.
  troubles.kill_shards = (blows & 1) != 0;
  troubles.freeze_shards = (blows & 2) != 0;
  troubles.kill_chief = (blows & 4) != 0;
  troubles.notice_ends = dice.OneIn(2);
  troubles.join_shards = dice.OneIn(3);
  troubles.leave_shards = dice.OneIn(3);
  troubles.rebalance = dice.OneIn(3);
  troubles.until = absl::Seconds(30);
  // A heartbeat that comes late cancels moves.
  troubles.weather.lose = dice.OneIn(2) ? 0 : 0.005;
  troubles.weather.dawdle = dice.OneIn(2) ? 0 : 0.02;
  troubles.between = absl::Milliseconds(100 + 100 * dice.Below(4));
  troubles.spare_unbacked = 0.9;
  return world;
}

}  // namespace capstan::sim
