// What the job would lose if it returned to its last checkpoint: updates, rows and hot rows of each
// table, according to the shards' heartbeats.
#ifndef CAPSTAN_CHIEF_MACHINES_LOST_UPDATES_METER_H_
#define CAPSTAN_CHIEF_MACHINES_LOST_UPDATES_METER_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "capstan/v1/chief.pb.h"
#include "capstan/v1/job.pb.h"

namespace capstan::chief {

// Thread-compatible.
class LostUpdatesMeter {
 public:
  explicit LostUpdatesMeter(const v1::JobSpec& spec);

  void Hear(uint32_t shard, uint64_t incarnation, const v1::ShardReport& report);

  // A checkpoint begins. It will hold at least what shards have reported so far; this counts as
  // saved once OnCheckpointStored is called.
  void BeginCheckpoint();
  void OnCheckpointStored();

  // Returns for each table what `shards` hold and the last stored checkpoint does not. Tables that
  // would lose nothing are omitted.
  std::vector<v1::TableLoss> LossOf(const std::set<uint32_t>& shards) const;

  // `shards` have returned to the last stored checkpoint.
  void OnReturned(const std::set<uint32_t>& shards);

 private:
  struct Held {
    uint64_t incarnation = 0;
    std::vector<v1::TableReport> tables;  // In the order of the job's tables.
  };

  uint64_t HotRowsLost(uint32_t shard, size_t table) const;

  std::vector<std::string> names_;
  std::map<uint32_t, Held> heard_;  // The last report of each shard's newest process.
  std::map<uint32_t, Held> begun_;  // The reports when the last checkpoint was begun.
  std::map<uint32_t, Held> saved_;  // The reports when the last stored checkpoint was begun.
  bool open_ = false;               // The last checkpoint that was begun has not been stored.
};

// Returns a text for the log, such as "clicks: 1200 updates, 30 rows, 12 of 40 hot rows".
std::string TextOf(const v1::RecoveryLoss& loss);

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_MACHINES_LOST_UPDATES_METER_H_
