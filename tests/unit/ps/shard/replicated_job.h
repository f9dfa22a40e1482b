// The job of tests of shards that back each other up: asynchronous, of one partition.
#ifndef TESTS_UNIT_PS_SHARD_REPLICATED_JOB_H_
#define TESTS_UNIT_PS_SHARD_REPLICATED_JOB_H_

#include "capstan/v1/job.pb.h"

namespace capstan::ps {

inline v1::JobSpec ReplicatedJob() {
  v1::JobSpec job;
  job.set_job("replicated");
  job.set_partition_count(1);
  job.set_replicas(1);
  job.mutable_sparse_update()->set_kind(v1::POLICY_KIND_ASYNC);
  job.mutable_dense_update()->set_kind(v1::POLICY_KIND_ASYNC);
  return job;
}

}  // namespace capstan::ps

#endif  // TESTS_UNIT_PS_SHARD_REPLICATED_JOB_H_
