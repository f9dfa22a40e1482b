// At which addresses a program reaches the processes of a job that runs in another network.
//
// The processes of a job know the chief and each other by addresses of their own network, and the
// chief tells everybody these. A program in another network has to dial something else: for example
// a port of its own machine that is forwarded to the process (`capstan_ps.connect` makes such ports
// with kubectl). Before every call a JobClient asks its resolver what to dial, for the chief as
// well as for each shard; nothing else in JobClient depends on the network. TLS is not touched: a
// certificate names its holder's role, not its address.
#ifndef CAPSTAN_CLIENT_ADDRESS_RESOLVER_H_
#define CAPSTAN_CLIENT_ADDRESS_RESOLVER_H_

#include <string>

#include "absl/status/statusor.h"

namespace capstan {

// This class serves a program in the job's own network: it returns each address as it is.
// Subclasses serve others. The methods are called by one thread at a time, and must not wait.
class AddressResolver {
 public:
  virtual ~AddressResolver() = default;

  // Returns the host:port to dial now for the process that the job knows by `address`. A later call
  // may return something else, which the next calls then dial. UNAVAILABLE, with the reason: it
  // cannot be reached yet, or not any more; the client asks again a little later, for as long as it
  // is patient. Any other error ends the call.
  virtual absl::StatusOr<std::string> Resolve(const std::string& address) { return address; }

  // Says that what Resolve() returned for `address` may be of no use any more: the chief says that
  // the process has gone, or it has not answered for as long as the client was patient. Resolve()
  // may be called for the address again, which may be another process by then.
  virtual void Forget(const std::string& /*address*/) {}
};

}  // namespace capstan

#endif  // CAPSTAN_CLIENT_ADDRESS_RESOLVER_H_
