// A proxy between clients and a shard that loses requests, loses replies and repeats requests, as a
// bad network and impatient clients do. Deterministic in its seed, as far as the order of calls is.
#ifndef CAPSTAN_TESTS_INTEGRATION_SHARD_FLAKY_PROXY_H_
#define CAPSTAN_TESTS_INTEGRATION_SHARD_FLAKY_PROXY_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "capstan/rpc/server.h"

namespace capstan {

// Shares of calls, in percent.
struct Faults {
  int lost_requests = 0;  // Never reach the shard.
  int lost_replies = 0;   // Are carried out; the client hears UNAVAILABLE.
  int repeated = 0;       // Reach the shard twice, the second time later.
};

// Forwards Pull and Push. *Thread-safe*.
class FlakyProxy {
 public:
  FlakyProxy(const std::string& target, const Faults& faults, uint64_t seed);
  ~FlakyProxy();

  std::string address() const;
  int lost_requests() const;
  int lost_replies() const;
  int repeated() const;
  int forwarded() const;  // Calls that the shard has been sent, the second times among them.

 private:
  class Service;
  const std::unique_ptr<Service> service_;
  std::unique_ptr<Server> server_;
};

}  // namespace capstan

#endif  // CAPSTAN_TESTS_INTEGRATION_SHARD_FLAKY_PROXY_H_
