// An address as people and processes write it: "10.0.0.7:7000", "ps-0.ps:7000", "[::1]:7000".
#ifndef CAPSTAN_BASE_HOST_PORT_H_
#define CAPSTAN_BASE_HOST_PORT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace capstan {

struct HostPort {
  std::string host;  // Without the brackets of an IPv6 address.
  uint16_t port = 0;
  bool any() const { return host == "0.0.0.0" || host == "::"; }
};

// Returns nullopt if `address` is not host:port, with a port from 0 to 65535 and a host of at most
// 253 of the characters that names and addresses have.
std::optional<HostPort> SplitHostPort(std::string_view address);

// Returns "host:port", with brackets if the host needs them.
std::string JoinHostPort(const std::string& host, int port);

}  // namespace capstan

#endif  // CAPSTAN_BASE_HOST_PORT_H_
