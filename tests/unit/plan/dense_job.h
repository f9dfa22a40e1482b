// The job that most tests of plans are made of.
#ifndef CAPSTAN_TESTS_UNIT_PLAN_DENSE_JOB_H_
#define CAPSTAN_TESTS_UNIT_PLAN_DENSE_JOB_H_

#include <cstdint>

#include "capstan/v1/job.pb.h"

namespace capstan {

// A million dense floats (4 MB) with SGD in 16 partitions; `lanes` synchronous ones.
inline v1::JobSpec DenseJob(uint32_t lanes) {
  v1::JobSpec job;
  job.set_partition_count(16);
  job.mutable_train()->set_batch_size(10);
  job.mutable_train()->set_compute_threads(1);
  job.mutable_train()->set_push_window(1);
  job.mutable_dense_update()->set_kind(v1::POLICY_KIND_SYNC);
  job.mutable_dense_update()->set_lanes(lanes);
  v1::TensorSpec& tensor = *job.add_tensors();
  tensor.set_name("w");
  tensor.add_shape(1'000'000);
  tensor.mutable_optimizer()->set_kind(v1::OPTIMIZER_KIND_SGD);
  *job.mutable_dense_optimizer() = tensor.optimizer();
  return job;
}

}  // namespace capstan

#endif  // CAPSTAN_TESTS_UNIT_PLAN_DENSE_JOB_H_
