// The ports of the chief's process and the services on them. They live as long as the process, even
// if the job cannot be started.
#ifndef CAPSTAN_CHIEF_SHELL_DOORS_H_
#define CAPSTAN_CHIEF_SHELL_DOORS_H_

#include <cstddef>
#include <memory>
#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "capstan/base/clock.h"
#include "capstan/metrics/registry.h"
#include "capstan/process/service.h"
#include "capstan/rpc/server.h"
#include "capstan/security/tls.h"
#include "chief/shell/chief_door.h"
#include "chief/shell/chief_service.h"
#include "chief/shell/job_reader_service.h"
#include "chief/shell/model_intake.h"
#include "chief/shell/process_options.h"
#include "chief/shell/view_feed.h"

namespace capstan::chief {

// Confined to the process's main thread; the services are thread-safe.
struct Doors {
  static constexpr size_t kMaxWatchers = 8192;

  // `r` and `t` must outlive this object.
  Doors(metrics::Registry& r, const Tls* t) : registry(r), tls(t) {}
  // Listens on the ports. Returns an error if a port is not available or a certificate is unusable.
  absl::Status Open(const ProcessOptions& options);
  // Writes the ports file, if one was asked for, and returns the ports. REQUIRES: Open.
  absl::StatusOr<Ports> Tell() const { return side->Tell(server->port()); }

  metrics::Registry& registry;
  const Tls* const tls;  // The identity of the process; null: it speaks plaintext.
  const SteadyClock clock;
  ViewFeed views{kMaxWatchers};
  ModelIntake models{clock};
  ChiefDoor door{{.views = views,
                  .models = models,
                  .clock = clock,
                  .job = tls == nullptr ? "" : tls->identity().job()}};
  ChiefService service{door, models, tls};
  JobReaderService reader{door};
  std::optional<SidePorts> side;
  std::unique_ptr<Server> server;  // Destroyed before what it serves.
};

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_SHELL_DOORS_H_
