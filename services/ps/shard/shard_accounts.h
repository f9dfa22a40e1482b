// Counts what a shard holds, for its metrics and for the chief, and derives the limits of its
// memory.
#ifndef CAPSTAN_PS_SHARD_SHARD_ACCOUNTS_H_
#define CAPSTAN_PS_SHARD_SHARD_ACCOUNTS_H_

#include <cstdint>

#include "capstan/v1/chief.pb.h"
#include "ps/partition/shard_facts.h"
#include "ps/shard/shard_parts.h"

namespace capstan::ps {

// *Thread-safe*.
class ShardAccounts {
 public:
  // `parts` must outlive this object.
  explicit ShardAccounts(ShardParts& parts) : parts_(parts) {}

  ShardFacts Facts() const;

  // The shard may use `bytes` of memory: each use gets its share (MemoryBudget). Before this call
  // only waiting pulls and operations for backups have a limit.
  void SetMemory(uint64_t bytes);
  // Limits gradients that wait for their turn to the memory that remains beside all that the shard
  // holds according to `report`. Must be called every heartbeat.
  void LimitWaiting(const v1::ShardReport& report);
  // Limits the memory for the former state of rows and blocks that change while they are copied:
  // with synchronous parts, to a share of the bytes that the shard holds. Must be called when a
  // copy begins.
  void LimitKept();

 private:
  void AddMemory(ShardFacts& facts) const;

  ShardParts& parts_;
};

}  // namespace capstan::ps

#endif  // CAPSTAN_PS_SHARD_SHARD_ACCOUNTS_H_
