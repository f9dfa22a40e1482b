// The exactly-once oracle: SGD with rate 1 and a gradient of -1 in the client's own column, in
// every row and in its own element of the dense vector. After n acknowledged pushes each of its
// cells is n: a lost push shows as less, a doubled one as more.
#ifndef CAPSTAN_TESTS_INTEGRATION_SHARD_COUNTING_CLIENT_H_
#define CAPSTAN_TESTS_INTEGRATION_SHARD_COUNTING_CLIENT_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "absl/status/status.h"
#include "capstan/client/ps_client.h"
#include "capstan/v1/job.pb.h"
#include "capstan/v1/view.pb.h"

namespace capstan {

// Of SmallJob(columns, columns). *Confined to one thread*.
class CountingClient {
 public:
  CountingClient(const v1::JobSpec& job, const v1::View& view, uint32_t column, uint32_t rows);

  // Pushes once, under the next number of stream Task(0, column); tries again, by the same name,
  // until every partition has settled it. An error: it cannot be settled (not settled within 30 s,
  // or refused).
  absl::Status Push();
  // The same push again, which must change nothing.
  absl::Status Repeat();
  // Whom to ask for the newest view before a push or pull is tried again.
  void SetRefresh(std::function<v1::View()> refresh) { refresh_ = std::move(refresh); }
  // For how long a push is tried again.
  void SetPatience(absl::Duration patience) { patience_ = patience; }
  uint64_t pushes() const { return seq_; }
  int retries() const { return retries_; }

  // All rows, row-major, then the dense vector.
  absl::StatusOr<std::vector<float>> Pull();

  // Another connection, as after a restart of the client: the stream goes on.
  void Reconnect();

 private:
  absl::Status Settle(uint64_t seq);

  void Refresh();

  v1::View view_;
  std::function<v1::View()> refresh_;
  const ParameterMap map_;
  const uint32_t column_;
  const size_t dim_;
  std::vector<uint64_t> keys_;
  std::vector<float> row_gradients_;
  std::vector<float> dense_gradient_;
  EventLoop loop_;
  std::unique_ptr<PsClient> client_;
  RequestPlan plan_;
  absl::Duration patience_ = absl::Seconds(30);
  uint64_t seq_ = 0;
  int retries_ = 0;
};

}  // namespace capstan

#endif  // CAPSTAN_TESTS_INTEGRATION_SHARD_COUNTING_CLIENT_H_
