// What shards reply to the pulls and pushes of a worker, or of a program that is no part of the
// job: whatever arrives, each request ends, nothing is written beside the places for what was
// asked, and what was answered in a request that failed is not asked for again.
//
// A list of messages: replies, which come in their order, views, and requests.
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/server_callback.h>

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "capstan/base/check.h"
#include "capstan/client/parameter_map.h"
#include "capstan/client/ps_client.h"
#include "capstan/client/request_plan.h"
#include "capstan/rpc/event_loop.h"
#include "capstan/rpc/process_channels.h"
#include "capstan/rpc/server.h"
#include "capstan/rpc/status.h"
#include "capstan/v1/job.pb.h"
#include "capstan/v1/ps.grpc.pb.h"
#include "capstan/v1/view.pb.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/messages.h"

namespace capstan {
namespace {

constexpr uint32_t kPartitions = 2;
constexpr uint32_t kDim = 2;
constexpr uint32_t kWeights = 3;
constexpr std::array<uint64_t, 4> kKeys = {1, 2, 3, 5};

v1::JobSpec Job() {
  v1::JobSpec job;
  job.set_job("fuzz");
  job.set_partition_count(kPartitions);
  v1::TableSpec& table = *job.add_tables();
  table.set_id(1);
  table.set_name("features");
  table.set_dim(kDim);
  v1::TensorSpec& tensor = *job.add_tensors();
  tensor.set_name("w");
  tensor.add_shape(kWeights);
  return job;
}

// All shards of the view: they reply what the input says, and then nothing of use. *Thread-safe*.
class Shards final : public v1::Ps::WithRawCallbackMethod_Pull<
                         v1::Ps::WithRawCallbackMethod_Push<v1::Ps::CallbackService>> {
 public:
  // The first byte is the code of the reply's status, and the rest is the reply.
  void Add(std::string_view reply) {
    absl::MutexLock lock(&mu_);
    next_.emplace_back(reply);
  }
  void Clear() {
    absl::MutexLock lock(&mu_);
    next_.clear();
  }

  grpc::ServerUnaryReactor* Pull(grpc::CallbackServerContext* context, const grpc::ByteBuffer*,
                                 grpc::ByteBuffer* reply) override {
    return Answer(*context, *reply);
  }
  grpc::ServerUnaryReactor* Push(grpc::CallbackServerContext* context, const grpc::ByteBuffer*,
                                 grpc::ByteBuffer* reply) override {
    return Answer(*context, *reply);
  }

 private:
  grpc::ServerUnaryReactor* Answer(grpc::CallbackServerContext& context, grpc::ByteBuffer& reply) {
    grpc::ServerUnaryReactor* const reactor = context.DefaultReactor();
    absl::MutexLock lock(&mu_);
    const std::string next = next_.empty() ? "\x0e" : next_.front();  // UNAVAILABLE
    if (!next_.empty()) next_.pop_front();
    const grpc::Slice slice(next.data() + !next.empty(), next.size() - !next.empty());
    reply = grpc::ByteBuffer(&slice, 1);
    const int code = next.empty() ? 0 : static_cast<uint8_t>(next[0]) % 17;
    reactor->Finish({static_cast<grpc::StatusCode>(code), "as the input says"});
    return reactor;
  }

  absl::Mutex mu_;
  std::deque<std::string> next_ ABSL_GUARDED_BY(mu_);
};

// What all inputs share, so that none has to wait for a connection.
struct Network {
  Shards shards;
  std::unique_ptr<Server> server = *Server::Start({.listen = "127.0.0.1:0"}, {&shards});
  std::string address = absl::StrCat("127.0.0.1:", server->port());
  EventLoop loop;
  std::shared_ptr<ProcessChannels> channels = std::make_shared<ProcessChannels>(/*tls=*/nullptr);
};
Network& TheNetwork() {
  static Network& network = *new Network;  // Lives as long as the process.
  return network;
}

class FuzzedClient {
 public:
  FuzzedClient() {
    const TableKeys keys{.table = 0, .keys = kKeys};
    plan_.Build({&keys, 1}, /*dense=*/true);
    v1::View view;
    for (uint32_t i = 0; i < kPartitions; ++i) view.add_owners(0);
    view.add_shards();
    See(std::move(view));
    CAPSTAN_CHECK(client_.owners().size() == kPartitions);
  }
  ~FuzzedClient() { network_.shards.Clear(); }

  void Hear(uint8_t kind, std::string_view message) {
    v1::View view;
    switch (kind % 5) {
      case 0:
        return network_.shards.Add(message);
      case 1:
        return Pull();
      case 2:
        return Push();
      case 3:
        if (Parse(message, view)) See(std::move(view));
        return;
      default:  // Another batch.
        pulled_.Clear();
        pushed_.Clear();
    }
  }

 private:
  // All its shards are the server's.
  void See(v1::View view) {
    view.mutable_epoch()->set_term(++term_);
    for (v1::ShardInfo& shard : *view.mutable_shards()) {
      shard.set_address(network_.address);
      shard.set_incarnation(1);
    }
    if (!client_.SetView(view) || client_.owners().empty()) return;
    pulled_.Clear();
    pushed_.Clear();
    plan_.Route(client_.owners());
  }

  void Pull() {
    // Each has the size that is needed, so that a sanitizer sees what is written beside it.
    std::vector<float> rows(kKeys.size() * kDim);
    std::vector<float> dense(kWeights);
    std::vector<uint32_t> row_versions(kKeys.size());
    PartitionVersions versions(kPartitions);
    float* const of_table[] = {rows.data()};
    uint32_t* const versions_of_table[] = {row_versions.data()};
    const PullResult result = client_.PullAll(plan_, {.answered = &pulled_},
                                              {.rows = of_table,
                                               .dense = dense.data(),
                                               .versions = &versions,
                                               .row_versions = versions_of_table});
    CheckHint(result.retry_after);
    if (!result.status.ok()) return;
    for (uint32_t i = 0; i < kPartitions; ++i) CAPSTAN_CHECK(pulled_.Find(i) == nullptr);
  }

  void Push() {
    const std::vector<float> rows(kKeys.size() * kDim);
    const std::vector<float> dense(kWeights);
    const float* const of_table[] = {rows.data()};
    const PushResult result = client_.PushAll(plan_, {.clock = 1, .answered = &pushed_},
                                              {.rows = of_table, .dense = dense.data()});
    CheckHint(result.retry_after);
    if (!result.status.ok()) return;
    // There is an outcome of each part of each partition that holds something of the batch.
    const uint32_t outcomes =
        std::accumulate(result.outcomes.begin(), result.outcomes.end(), uint32_t{0});
    CAPSTAN_CHECK(outcomes > 0 && outcomes <= kPartitions * kParts);
  }

  static void CheckHint(absl::Duration hint) {
    CAPSTAN_CHECK(hint >= absl::ZeroDuration() && hint <= kLongestRetryHint);
  }

  Network& network_ = TheNetwork();
  const ParameterMap map_ = *ParameterMap::Create(Job());
  RequestPlan plan_{map_};
  PsClient client_{network_.loop, map_, {.trainer = TrainerId{5}, .channels = network_.channels}};
  uint64_t term_ = 0;
  AnsweredPartitions pulled_;
  AnsweredPartitions pushed_;
};

}  // namespace
}  // namespace capstan

void Fuzz(std::string_view input) {
  capstan::FuzzedClient client;
  capstan::ForEachMessage(
      input, [&client](uint8_t kind, std::string_view message) { client.Hear(kind, message); });
}
