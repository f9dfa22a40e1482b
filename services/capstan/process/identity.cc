#include "capstan/process/identity.h"

#include <unistd.h>

#include <climits>
#include <random>

namespace capstan {

std::string HostName() {
  char name[HOST_NAME_MAX + 1] = {};
  gethostname(name, HOST_NAME_MAX);
  return name;
}

std::string HostOf(const std::string& address) { return address.substr(0, address.rfind(':')); }

uint64_t RandomId() {
  std::random_device device;
  return (uint64_t{device()} << 32) | device() | 1;
}

Incarnation NewIncarnation() { return Incarnation{RandomId()}; }

}  // namespace capstan
