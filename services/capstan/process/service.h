// What all services have in common as processes: the log, the settings of locks and waits, and the
// health and metrics ports, which answer whatever else the process does.
#ifndef CAPSTAN_PROCESS_SERVICE_H_
#define CAPSTAN_PROCESS_SERVICE_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "capstan/base/ports_file.h"
#include "capstan/metrics/registry.h"
#include "capstan/metrics/server.h"
#include "capstan/rpc/health.h"
#include "capstan/security/tls.h"

namespace capstan {

struct ServiceOptions {
  int health_port = 7001;   // 0: any free one.
  int metrics_port = 9090;  // 0: any free one.
  std::string ports_file;   // The file to which the ports are written; empty: none.
  std::string log_format = "text";
  std::string trace;  // The file to which the events of the protocols are appended; empty: none.
  // True: core dumps as configured in the system. False: none, as they contain parameters and keys.
  bool core_dumps = false;
  std::string tls;  // Folder of the certificate (capstan/security); empty: plaintext.
};

// Must be called once, before any thread is started. Returns the identity for all channels and
// servers of the process, which must outlive them; null: plaintext. `id` is that of log::Options.
// INVALID_ARGUMENT: there is no such log format. Also returns errors of reading the certificate and
// of opening the trace.
absl::StatusOr<std::unique_ptr<const Tls>> SetUpProcess(const ServiceOptions& options,
                                                        const std::string& role,
                                                        const std::string& id = "");

// Adds the metrics that every process has: build, CPU, memory, its requests to object stores and,
// with `tls`, when its certificate expires. Must be called before a store is opened. `registry`
// must outlive the stores.
void MeasureProcess(metrics::Registry& registry, const Tls* tls);

// The health and metrics ports. They are open until this object is destroyed.
class SidePorts {
 public:
  // UNAVAILABLE: a port is taken. `registry` must outlive the ports.
  static absl::StatusOr<SidePorts> Open(const std::string& host, const ServiceOptions& options,
                                        const metrics::Registry& registry);

  HealthServer& health() const { return *health_; }

  // Writes all ports of the process to options.ports_file, if that is set, and returns them. `data`
  // is the port of its service; 0 if it has none.
  absl::StatusOr<Ports> Tell(int data) const;

 private:
  SidePorts() = default;

  std::string ports_file_;
  std::unique_ptr<metrics::Server> metrics_;
  std::unique_ptr<HealthServer> health_;
};

}  // namespace capstan

#endif  // CAPSTAN_PROCESS_SERVICE_H_
