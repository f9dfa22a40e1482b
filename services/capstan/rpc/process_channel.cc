#include "capstan/rpc/process_channel.h"

namespace capstan {

void ProcessChannel::LeadTo(const std::string& address, uint64_t incarnation) {
  if (channel_ != nullptr && address == address_ && incarnation == incarnation_) return;
  address_ = address;
  incarnation_ = incarnation;
  channel_ = NewChannel(address, Role::kPs);
}

}  // namespace capstan
