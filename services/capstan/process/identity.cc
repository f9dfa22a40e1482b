#include "capstan/process/identity.h"

#include <unistd.h>

#include <climits>
#include <optional>
#include <random>

#include "capstan/base/host_port.h"

namespace capstan {

std::string HostName() {
  char name[HOST_NAME_MAX + 1] = {};
  gethostname(name, HOST_NAME_MAX);
  return name;
}

std::string HostOf(const std::string& address) {
  const std::optional<HostPort> at = SplitHostPort(address);
  return at ? at->host : "";
}

std::string AddressToTell(const std::string& advertise, const std::string& listen, int port) {
  if (!advertise.empty()) return advertise;
  const std::optional<HostPort> at = SplitHostPort(listen);
  return JoinHostPort(!at || at->any() ? HostName() : at->host, port);
}

uint64_t RandomId() {
  std::random_device device;
  return (uint64_t{device()} << 32) | device() | 1;
}

Incarnation NewIncarnation() { return Incarnation{RandomId()}; }

}  // namespace capstan
