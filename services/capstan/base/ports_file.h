// The ports that a process listens on, written to a file for the caller that started it with port
// 0. The file appears whole or not at all: {"data": 41001, "health": 41002, "metrics": 41003}
#ifndef CAPSTAN_BASE_PORTS_FILE_H_
#define CAPSTAN_BASE_PORTS_FILE_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace capstan {

// 0 means that the process has no such port.
struct Ports {
  int data = 0;
  int health = 0;
  int metrics = 0;
  friend bool operator==(const Ports&, const Ports&) = default;
};

// Replaces the file atomically.
absl::Status WritePortsFile(const std::string& path, const Ports& ports);

// NOT_FOUND until the file exists.
absl::StatusOr<Ports> ReadPortsFile(const std::string& path);

}  // namespace capstan

#endif  // CAPSTAN_BASE_PORTS_FILE_H_
