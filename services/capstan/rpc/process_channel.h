// A channel to a shard, whose process another may replace, under the same address.
#ifndef CAPSTAN_RPC_PROCESS_CHANNEL_H_
#define CAPSTAN_RPC_PROCESS_CHANNEL_H_

#include <cstdint>
#include <string>

#include "capstan/rpc/channel.h"

namespace capstan {

// Copies share the channel. Thread-compatible.
class ProcessChannel {
 public:
  // Leads to this process from now on. Another one than before gets a channel of its own: the old
  // one may be in its back-off, or lead to a machine that is gone.
  void LeadTo(const std::string& address, uint64_t incarnation);

  uint64_t incarnation() const { return incarnation_; }
  const Channel& channel() const { return channel_; }  // Null before the first LeadTo.

 private:
  std::string address_;
  uint64_t incarnation_ = 0;
  Channel channel_;
};

}  // namespace capstan

#endif  // CAPSTAN_RPC_PROCESS_CHANNEL_H_
