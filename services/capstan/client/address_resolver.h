// Where a program reaches the processes of a job that runs in a network of its own.
//
// The processes of a job know the chief and each other by addresses of their own network, and the
// chief tells those to everybody. Who looks at the job from another network dials something else:
// a port of this machine, say, that leads there (`capstan_ps.connect` makes them with kubectl).
// Whatever a JobClient dials, the chief as well as each shard that a pull needs, it asks its
// resolver for, before every call; nothing else of it knows of the difference. TLS is not touched:
// a certificate names its holder's role, not its address.
#ifndef CAPSTAN_CLIENT_ADDRESS_RESOLVER_H_
#define CAPSTAN_CLIENT_ADDRESS_RESOLVER_H_

#include <string>

#include "absl/status/statusor.h"

namespace capstan {

// This one is for who is in the job's own network: each address is dialled as it is. The methods
// are called by one thread at a time, and do not wait.
class AddressResolver {
 public:
  virtual ~AddressResolver() = default;

  // host:port to dial for the process that the job knows by `address`, as of now; another answer
  // leads the next calls elsewhere. UNAVAILABLE: none yet, or none any more, and why; it is asked
  // again a little later, for as long as the client is patient. Any other error ends the call.
  virtual absl::StatusOr<std::string> Resolve(const std::string& address) { return address; }

  // The process that was there has gone, by what the chief says; or it has not answered for as long
  // as the client was patient, so what leads there may be out of order. The address may be asked
  // for again, also for another process.
  virtual void Forget(const std::string& /*address*/) {}
};

}  // namespace capstan

#endif  // CAPSTAN_CLIENT_ADDRESS_RESOLVER_H_
