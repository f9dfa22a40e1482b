// What every service is as a process: its log, its locks and waits, and the two ports that answer
// whatever else it does.
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

namespace capstan {

struct ServiceOptions {
  int health_port = 7001;   // 0: any free one.
  int metrics_port = 9090;  // 0: any free one.
  std::string ports_file;   // Where the ports are told; empty: nowhere.
  std::string log_format = "text";
  std::string trace;  // File that the events of the protocols are appended to; empty: none.
  bool core_dumps =
      false;        // As the system has it; otherwise none, as they hold parameters and keys.
  std::string tls;  // Folder of the certificate (capstan/security); empty: plaintext.
};

// To be called once, before any thread is started. `id`: as in log::Options. INVALID_ARGUMENT:
// there is no such log format.
absl::Status SetUpProcess(const ServiceOptions& options, const std::string& role,
                          const std::string& id = "");

// What every process tells of itself: build, CPU, memory, and what it asks of object stores. To be
// called before a store is opened. `registry` must outlive the stores.
void MeasureProcess(metrics::Registry& registry);

// Open until destroyed.
class SidePorts {
 public:
  // UNAVAILABLE: a port is taken. `registry` must outlive the ports.
  static absl::StatusOr<SidePorts> Open(const std::string& host, const ServiceOptions& options,
                                        const metrics::Registry& registry);

  HealthServer& health() const { return *health_; }

  // All ports of the process, `data` being that of its service; 0: it has none. They are written
  // to the file that the options name.
  absl::StatusOr<Ports> Tell(int data) const;

 private:
  SidePorts() = default;

  std::string ports_file_;
  std::unique_ptr<metrics::Server> metrics_;
  std::unique_ptr<HealthServer> health_;
};

}  // namespace capstan

#endif  // CAPSTAN_PROCESS_SERVICE_H_
