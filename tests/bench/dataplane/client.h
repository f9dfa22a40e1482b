// A client of one shard, as a worker is one, without a model: what is pulled and pushed is given.
#ifndef CAPSTAN_TESTS_BENCH_DATAPLANE_CLIENT_H_
#define CAPSTAN_TESTS_BENCH_DATAPLANE_CLIENT_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "capstan/client/ps_client.h"
#include "capstan/v1/job.pb.h"
#include "capstan/v1/view.pb.h"

namespace capstan::bench {

// A job that a chief and a shard serve.
struct ServedJob {
  v1::JobSpec job;
  v1::View view;
};

// From `folder`/job.binpb and `folder`/view.binpb, which who started chief and shard has written.
// Ends the process, with a line of why, if they cannot be read.
ServedJob ReadServedJob(const std::string& folder);

// Failures end the process with a line of why. *Thread-compatible.*
class Client {
 public:
  explicit Client(const ServedJob& served, v1::Dtype dtype = v1::DTYPE_FLOAT32);

  // What the next pulls and pushes are of: rows of the first table, and all dense values if any.
  void Plan(absl::Span<const uint64_t> keys);
  void Pull();
  // `rows` and `dense` in the shape of what was planned; those that the job has not are null.
  void Push(const float* rows, const float* dense);

  // Creates rows, by pushes of gradients of 1e-3: `key_of` of 0 to `count` - 1.
  void Fill(uint64_t count, uint64_t (*key_of)(uint64_t));

  // Floats of a row; 0: the job has no table.
  size_t dim() const { return dim_; }
  size_t dense_floats() const { return dense_.size(); }
  const std::vector<float>& rows() const { return rows_; }

 private:
  EventLoop loop_;
  ParameterMap map_;
  PsClient client_;
  StreamId session_;
  RequestPlan plan_;
  PartitionVersions versions_;
  size_t dim_;
  std::vector<float> rows_;
  std::vector<float> dense_;
  uint64_t seq_ = 0;
};

}  // namespace capstan::bench

#endif  // CAPSTAN_TESTS_BENCH_DATAPLANE_CLIENT_H_
