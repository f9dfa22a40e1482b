#include "capstan/process/service.h"

#include <sys/prctl.h>
#include <sys/resource.h>

#include "absl/strings/str_cat.h"
#include "capstan/base/host_port.h"
#include "capstan/base/locks.h"
#include "capstan/base/log.h"
#include "capstan/base/open_files.h"
#include "capstan/base/status.h"
#include "capstan/base/steady_waits.h"
#include "capstan/base/trace.h"
#include "capstan/metrics/process_metrics.h"
#include "capstan/objectstore/measured_object_store.h"

namespace capstan {
namespace {

constexpr metrics::GaugeDeclaration kTlsCertificateExpiryTimestampSeconds = {
    .name = "capstan_tls_certificate_expiry_timestamp_seconds",
    .help =
        "When the certificate that others are shown ends, as its file stands now; 0: "
        "unreadable.",
    .when = "with TLS",
    .normal = "a week ahead or more"};

// Sets the limit of core files to 1 byte. A limit of 0 applies only to files: where the kernel
// pipes cores to a program (core_pattern), as on many systems, only a limit of 1 prevents them, and
// it is too little for a file as well. If the limit cannot be set, the process is made undumpable,
// which prevents cores, too.
void ForbidCoreDumps() {
  rlimit size{};
  getrlimit(RLIMIT_CORE, &size);
  size.rlim_cur = 1;
  if (size.rlim_max == 0 || setrlimit(RLIMIT_CORE, &size) != 0) prctl(PR_SET_DUMPABLE, 0);
}

}  // namespace

absl::StatusOr<std::unique_ptr<const Tls>> SetUpProcess(const ServiceOptions& options,
                                                        const std::string& role,
                                                        const std::string& id) {
  CAPSTAN_ASSIGN_OR_RETURN(const log::Format format, log::ParseFormat(options.log_format));
  if (!options.core_dumps) ForbidCoreDumps();
  RaiseOpenFilesLimit();
  LockWithoutSearch();
  WaitBySteadyClock();
  CAPSTAN_ASSIGN_OR_RETURN(std::unique_ptr<const Tls> tls, Tls::Load(options.tls));
  log::Init({.format = format, .role = role, .id = id});
  if (!options.trace.empty()) {
    CAPSTAN_RETURN_IF_ERROR(trace::Open(options.trace, id.empty() ? role : id));
  }
  return tls;
}

void MeasureProcess(metrics::Registry& registry, const Tls* tls) {
  metrics::AddBuildInfo(registry);
  metrics::AddProcessMetrics(registry);
  MeasureObjectStores(registry);
  if (tls == nullptr) return;
  metrics::Gauge& end = registry.AddGauge(kTlsCertificateExpiryTimestampSeconds);
  registry.BeforeCollect([&end, file = tls->identity().certificate_file] {
    const absl::Time expires = CertificateEnd(file);
    end.Set(expires == absl::InfinitePast() ? 0
                                            : absl::ToDoubleSeconds(expires - absl::UnixEpoch()));
  });
}

absl::StatusOr<SidePorts> SidePorts::Open(const std::string& host, const ServiceOptions& options,
                                          const metrics::Registry& registry) {
  SidePorts ports;
  ports.ports_file_ = options.ports_file;
  CAPSTAN_ASSIGN_OR_RETURN(ports.metrics_,
                           metrics::Server::Start(registry, host, options.metrics_port));
  CAPSTAN_ASSIGN_OR_RETURN(ports.health_,
                           HealthServer::Start(JoinHostPort(host, options.health_port)));
  return ports;
}

absl::StatusOr<Ports> SidePorts::Tell(int data) const {
  const Ports ports = {.data = data, .health = health_->port(), .metrics = metrics_->port()};
  if (!ports_file_.empty()) CAPSTAN_RETURN_IF_ERROR(WritePortsFile(ports_file_, ports));
  return ports;
}

}  // namespace capstan
