// Serves grpc.health.v1 on a separate port, with separate threads: so it answers while the data
// port is under full load, and without TLS, which the kubelet does not support.
#ifndef CAPSTAN_RPC_HEALTH_H_
#define CAPSTAN_RPC_HEALTH_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"

namespace capstan {

// The three services that a probe may name. Unknown names are answered NOT_FOUND, and the empty
// name means liveness.
enum class Probe : int {
  kStartup = 0,    // The process has started up; stays true.
  kLiveness = 1,   // The process can do its work; never depends on peers.
  kReadiness = 2,  // Clients may connect: false while waiting for the chief, restoring, draining.
};

// *Thread-safe*.
class HealthServer {
 public:
  // Listens at once, with liveness SERVING and the other two NOT_SERVING. Errors: UNAVAILABLE if
  // the port is taken.
  static absl::StatusOr<std::unique_ptr<HealthServer>> Start(const std::string& listen);
  virtual ~HealthServer() = default;

  virtual int port() const = 0;
  // Sets the answer to a probe; watchers are notified at once.
  virtual void Set(Probe probe, bool serving) = 0;
};

}  // namespace capstan

#endif  // CAPSTAN_RPC_HEALTH_H_
