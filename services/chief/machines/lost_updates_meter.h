// What the job would lose by a return to its last checkpoint: updates, rows and states of hot rows
// of each table, as far as the shards' heartbeats have told.
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

  // A checkpoint is begun. It will hold at least what shards have reported by now; that counts as
  // saved once OnCheckpointStored is called.
  void BeginCheckpoint();
  void OnCheckpointStored();

  // Returns, by table, what `shards` hold and the last stored checkpoint does not. Tables that
  // would lose nothing are left out.
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
  std::map<uint32_t, Held> heard_;  // What each shard's newest process has reported last,
  std::map<uint32_t, Held> begun_;  // had reported when the last checkpoint was begun,
  std::map<uint32_t, Held> saved_;  // and when the last one that is stored was begun.
  bool open_ = false;               // The checkpoint begun last is under way, or has failed.
};

// "clicks: 1200 updates, 30 rows, 12 of 40 hot rows", for the log.
std::string TextOf(const v1::RecoveryLoss& loss);

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_MACHINES_LOST_UPDATES_METER_H_
