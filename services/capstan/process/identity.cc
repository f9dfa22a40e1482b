#include "capstan/process/identity.h"

#include <unistd.h>

#include <climits>
#include <cstdint>
#include <random>

namespace capstan {

std::string HostName() {
  char name[HOST_NAME_MAX + 1] = {};
  gethostname(name, HOST_NAME_MAX);
  return name;
}

std::string HostOf(const std::string& address) { return address.substr(0, address.rfind(':')); }

Incarnation NewIncarnation() {
  std::random_device device;
  const uint64_t bits = (uint64_t{device()} << 32) | device();
  return Incarnation{bits | 1};
}

}  // namespace capstan
