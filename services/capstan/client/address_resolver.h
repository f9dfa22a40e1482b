// Translates the addresses of a job's processes for a program that runs in another network.
//
// The processes of a job reach the chief and each other by addresses of their own network, and the
// chief gives these to everyone. A program in another network has to dial something else: for
// example a port of its own machine that is forwarded to the process (`capstan_ps.connect` creates
// such ports with kubectl). Before every call a JobClient asks its resolver what to dial, for the
// chief and for each shard; nothing else in JobClient depends on the network. TLS is not affected:
// a certificate names its holder's role, not its address.
#ifndef CAPSTAN_CLIENT_ADDRESS_RESOLVER_H_
#define CAPSTAN_CLIENT_ADDRESS_RESOLVER_H_

#include <string>

#include "absl/status/statusor.h"

namespace capstan {

// This class is for a program in the job's own network: it returns each address unchanged.
// Subclasses are for other networks. The methods are called by one thread at a time, and must not
// block.
class AddressResolver {
 public:
  virtual ~AddressResolver() = default;

  // Returns the host:port to dial now for the process with the address `address` in the job. A
  // later call may return something else, which the next calls then dial. UNAVAILABLE, with the
  // reason: it cannot be reached yet, or not any more; the client retries a little later, for as
  // long as its patience lasts. Any other error ends the call.
  virtual absl::StatusOr<std::string> Resolve(const std::string& address) { return address; }

  // The result of Resolve() for `address` may not be valid any more: the chief says that the
  // process is gone, or it has not answered for the length of the client's patience. Resolve() may
  // be called for the address again, which may belong to another process by then.
  virtual void Forget(const std::string& /*address*/) {}
};

}  // namespace capstan

#endif  // CAPSTAN_CLIENT_ADDRESS_RESOLVER_H_
