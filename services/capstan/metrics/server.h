// The metrics port: /metrics for scrapers, and /buildinfo with the version of the program. It
// answers on threads of its own, even under full load, and without TLS.
#ifndef CAPSTAN_METRICS_SERVER_H_
#define CAPSTAN_METRICS_SERVER_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "capstan/metrics/registry.h"

namespace capstan::metrics {

// Serves until destroyed. Thread-safe.
class Server {
 public:
  // Listens on `host`:`port`; port 0: any free port. UNAVAILABLE: the port is taken. `registry`
  // must outlive the server.
  static absl::StatusOr<std::unique_ptr<Server>> Start(const Registry& registry,
                                                       const std::string& host, int port);
  ~Server();

  int port() const;

 private:
  struct Parts;
  explicit Server(std::unique_ptr<Parts> parts);

  std::unique_ptr<Parts> parts_;
};

}  // namespace capstan::metrics

#endif  // CAPSTAN_METRICS_SERVER_H_
