// Update policies for the worlds of the tests.
#ifndef CAPSTAN_TESTS_SIMULATION_WORLDS_H_
#define CAPSTAN_TESTS_SIMULATION_WORLDS_H_

#include "capstan/v1/job.pb.h"

namespace capstan::simulation {

inline v1::UpdatePolicy Async(uint32_t aggregate = 1) {
  v1::UpdatePolicy policy;
  policy.set_kind(v1::POLICY_KIND_ASYNC);
  policy.set_aggregate(aggregate);
  return policy;
}

inline v1::UpdatePolicy Ssp(uint32_t staleness) {
  v1::UpdatePolicy policy;
  policy.set_kind(v1::POLICY_KIND_SSP);
  policy.set_staleness(staleness);
  return policy;
}

inline v1::UpdatePolicy Sync(uint32_t backup_workers = 0) {
  v1::UpdatePolicy policy;
  policy.set_kind(v1::POLICY_KIND_SYNC);
  policy.set_backup_workers(backup_workers);
  return policy;
}

}  // namespace capstan::simulation

#endif  // CAPSTAN_TESTS_SIMULATION_WORLDS_H_
