#include "capstan/rpc/process_channels.h"

namespace capstan {

Channel ProcessChannels::To(const std::string& address, uint64_t incarnation) {
  std::weak_ptr<grpc::Channel>& known = channels_[{address, incarnation}];
  if (Channel channel = known.lock()) return channel;
  Channel channel = NewChannel(address, Role::kPs, tls_);
  known = channel;
  std::erase_if(channels_, [](const auto& other) { return other.second.expired(); });
  return channel;
}

}  // namespace capstan
