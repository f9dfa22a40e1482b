// Serves grpc.health.v1 on a port of its own, with threads of its own: so it answers while the data
// port is under full load, and needs no TLS (the kubelet speaks none).
#ifndef CAPSTAN_RPC_HEALTH_H_
#define CAPSTAN_RPC_HEALTH_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"

namespace capstan {

// The three services a probe may ask for. Unknown names are answered NOT_FOUND, and the empty name
// means liveness.
enum class Probe : int {
  kStartup = 0,    // Start-up is over; stays true.
  kLiveness = 1,   // The process can do its work; never depends on peers.
  kReadiness = 2,  // Clients may come: false while waiting for the chief, restoring, draining.
};

// *Thread-safe*.
class HealthServer {
 public:
  // Listens at once, with liveness SERVING and the other two NOT_SERVING. Errors: UNAVAILABLE if
  // the port is taken.
  static absl::StatusOr<std::unique_ptr<HealthServer>> Start(const std::string& listen);
  virtual ~HealthServer() = default;

  virtual int port() const = 0;
  // Sets what probes are answered; watchers are told at once.
  virtual void Set(Probe probe, bool serving) = 0;
};

}  // namespace capstan

#endif  // CAPSTAN_RPC_HEALTH_H_
