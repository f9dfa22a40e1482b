// What a shard has, for its metrics and for the chief, and the limits of its memory that follow.
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
  // `parts` must outlive this.
  explicit ShardAccounts(ShardParts& parts) : parts_(parts) {}

  ShardFacts Facts() const;

  // The shard may take `bytes`: each use gets its share of them (MemoryBudget). Before this call
  // only waiting pulls and operations on their way to backups have a limit.
  void SetMemory(uint64_t bytes);
  // Leaves to gradients that wait for their turn what the memory has beside all that the shard
  // holds by its report. Call it every heartbeat.
  void LimitWaiting(const v1::ShardReport& report);
  // Limits what is kept of rows and blocks that change while they are copied: with synchronous
  // parts, to a share of the bytes that the shard holds. Call it when a copy begins.
  void LimitKept();

 private:
  void AddMemory(ShardFacts& facts) const;

  ShardParts& parts_;
};

}  // namespace capstan::ps

#endif  // CAPSTAN_PS_SHARD_SHARD_ACCOUNTS_H_
