// By what the chief knows the process of a shard. The view tells everybody in the job the
// incarnations of the shards, so a shard makes its own of a secret, which it tells the chief alone.
// Whoever cannot show the secret is not that process, and each chief can tell, without having been
// told anything by the one before.
#ifndef CAPSTAN_SECURITY_SHARD_SECRET_H_
#define CAPSTAN_SECURITY_SHARD_SECRET_H_

#include <string>
#include <string_view>

#include "capstan/base/ids.h"

namespace capstan {

// Returns a random secret for the process of a shard.
std::string NewShardSecret();

// Returns the incarnation that is made of the secret; never 0. It is the same in every release: a
// chief may be of another one than its shards. Nobody finds the secret by the incarnation.
Incarnation IncarnationOfSecret(std::string_view secret);

// Returns true if the incarnation is made of this secret, which comes from outside: one that is
// longer than any process has is of none, and costs nobody the time to hash it.
bool IsSecretOf(std::string_view secret, Incarnation incarnation);

}  // namespace capstan

#endif  // CAPSTAN_SECURITY_SHARD_SECRET_H_
