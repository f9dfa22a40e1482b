// What may happen in a history, and for how long.
#ifndef CAPSTAN_TESTS_SIMULATION_SIM_TROUBLES_H_
#define CAPSTAN_TESTS_SIMULATION_SIM_TROUBLES_H_

#include "absl/time/time.h"
#include "tests/simulation/sim/network.h"
#include "tests/simulation/sim/store.h"

namespace capstan::sim {

struct Troubles {
  absl::Duration until = absl::Seconds(20);           // Then everything is well.
  absl::Duration between = absl::Milliseconds(1500);  // Two blows, on average.
  Weather weather;
  StoreWeather store_weather;
  bool kill_workers = false;
  bool drain_workers = false;
  bool freeze_workers = false;
  bool kill_shards = false;
  bool drain_shards = false;
  bool freeze_shards = false;
  bool kill_chief = false;
  bool replace_chief = false;  // Another one begins while the old one lives.
  bool freeze_chief = false;
  bool kill_all = false;  // At once.
  bool cut_links = false;
  bool store_away = false;
  bool stall_data = false;   // Of workers; for ever, if it is not the only worker.
  bool false_words = false;  // The first worker tells of leases that it has not been given as well.
  bool join_shards = false;  // While the job runs; also those that have left.
  bool leave_shards = false;  // Likewise, and they stay away.
  bool rebalance = false;     // Somebody asks for it.
  bool notice_ends = false;   // Chiefs find out that a shard's process has ended, after a while.
  double spare_unbacked = 0;  // Chance of a blow not to fall while a partition has no backup.
  // Shards are killed, one at a time, whose backups can take over: out of the blue, or on their way
  // out.
  bool kill_backed = false;
  bool grow =
      false;  // Once: a chief that knows of another shard takes the place of the one before.
};

}  // namespace capstan::sim

#endif  // CAPSTAN_TESTS_SIMULATION_SIM_TROUBLES_H_
