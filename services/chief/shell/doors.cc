#include "chief/shell/doors.h"

#include "capstan/base/status.h"
#include "capstan/process/identity.h"

namespace capstan::chief {

absl::Status Doors::Open(const ProcessOptions& options) {
  CAPSTAN_ASSIGN_OR_RETURN(side,
                           SidePorts::Open(HostOf(options.listen), options.service, registry));
  CAPSTAN_ASSIGN_OR_RETURN(
      server, Server::Start({.listen = options.listen, .tls = tls}, {&service, &reader}));
  return absl::OkStatus();
}

}  // namespace capstan::chief
