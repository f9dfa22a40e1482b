// Channels to shards. Another process may take a shard's place at the same address.
#ifndef CAPSTAN_RPC_PROCESS_CHANNELS_H_
#define CAPSTAN_RPC_PROCESS_CHANNELS_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "capstan/rpc/channel.h"

namespace capstan {

// All callers that ask for a channel to the same process get the same one, and so share its
// connection, as long as one of them holds it. Thread-compatible.
class ProcessChannels {
 public:
  // `tls`: the identity that the channels present; null: plaintext. Must outlive the channels.
  explicit ProcessChannels(const Tls* tls) : tls_(tls) {}

  // Returns the channel to the process `incarnation` at `address`. A new process at an address gets
  // a new channel: the old one may be in its back-off, or connected to a machine that is gone.
  Channel To(const std::string& address, uint64_t incarnation);

 private:
  const Tls* tls_;
  std::map<std::pair<std::string, uint64_t>, std::weak_ptr<grpc::Channel>> channels_;
};

}  // namespace capstan

#endif  // CAPSTAN_RPC_PROCESS_CHANNELS_H_
