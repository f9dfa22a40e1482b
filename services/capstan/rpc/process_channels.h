// Channels to shards, whose processes others may replace under the same addresses.
#ifndef CAPSTAN_RPC_PROCESS_CHANNELS_H_
#define CAPSTAN_RPC_PROCESS_CHANNELS_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "capstan/rpc/channel.h"

namespace capstan {

// Whoever asks for the same process gets the same channel, and so shares its connection, while any
// of them holds it. Thread-compatible.
class ProcessChannels {
 public:
  // As what it shows itself; null: nothing. Must outlive the channels.
  explicit ProcessChannels(const Tls* tls = ProcessTls()) : tls_(tls) {}

  // Another process than before at an address gets a channel of its own: the old one may be in its
  // back-off, or lead to a machine that is gone.
  Channel To(const std::string& address, uint64_t incarnation);

 private:
  const Tls* tls_;
  std::map<std::pair<std::string, uint64_t>, std::weak_ptr<grpc::Channel>> channels_;
};

}  // namespace capstan

#endif  // CAPSTAN_RPC_PROCESS_CHANNELS_H_
