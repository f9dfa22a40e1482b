// How the chief recognizes the process of a shard. The view shows everyone in the job the
// incarnations of the shards, so a shard derives its incarnation from a secret, which it sends only
// to the chief. A peer that does not know the secret is not that process, and every chief can
// verify that without information from its predecessor.
#ifndef CAPSTAN_SECURITY_SHARD_SECRET_H_
#define CAPSTAN_SECURITY_SHARD_SECRET_H_

#include <string>
#include <string_view>

#include "capstan/base/ids.h"

namespace capstan {

// Returns a random secret for the process of a shard.
std::string NewShardSecret();

// Returns the incarnation that is derived from the secret; never 0. It is the same in every
// version, because the chief may run another one than its shards. The secret cannot be computed
// from it.
Incarnation IncarnationOfSecret(std::string_view secret);

// Returns true if the incarnation is derived from this secret, which comes from outside. A secret
// that is longer than those of processes is rejected without the cost of hashing it.
bool IsSecretOf(std::string_view secret, Incarnation incarnation);

}  // namespace capstan

#endif  // CAPSTAN_SECURITY_SHARD_SECRET_H_
