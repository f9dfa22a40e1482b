// A job of one shard, which answers what a test wants.
#ifndef CAPSTAN_TESTS_UNIT_CLIENT_ONE_SHARD_H_
#define CAPSTAN_TESTS_UNIT_CLIENT_ONE_SHARD_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "capstan/client/ps_client.h"
#include "capstan/rpc/server.h"
#include "capstan/v1/ps.grpc.pb.h"
#include "tests/unit/client/fake_job.h"

namespace capstan {

// Notes what comes, and answers as `pull` and `push` say.
class OneShard final : public v1::Ps::CallbackService {
 public:
  grpc::ServerUnaryReactor* Pull(grpc::CallbackServerContext* context,
                                 const v1::PullRequest* request, v1::PullReply* reply) override {
    absl::MutexLock lock(&mu);
    pull(*request, *reply);
    return Answer(context, grpc::Status::OK);
  }
  grpc::ServerUnaryReactor* Push(grpc::CallbackServerContext* context,
                                 const v1::PushRequest* request, v1::PushReply* reply) override {
    absl::MutexLock lock(&mu);
    pushes.push_back(*request);
    push(*request, *reply);
    return Answer(context, grpc::Status::OK);
  }

  absl::Mutex mu;
  std::function<void(const v1::PullRequest&, v1::PullReply&)> pull ABSL_GUARDED_BY(mu);
  std::function<void(const v1::PushRequest&, v1::PushReply&)> push ABSL_GUARDED_BY(mu);
  std::vector<v1::PushRequest> pushes ABSL_GUARDED_BY(mu);
};

// The job has a table of two columns, number 4, and a tensor of three floats.
class OneShardTest : public testing::Test {
 protected:
  explicit OneShardTest(uint32_t partitions) {
    v1::JobSpec job;
    job.set_partition_count(partitions);
    job.add_tables()->set_id(4);
    job.mutable_tables(0)->set_dim(2);
    v1::TensorSpec& tensor = *job.add_tensors();
    tensor.set_name("w");
    tensor.add_shape(3);
    map_ = std::make_unique<ParameterMap>(*ParameterMap::Create(job));
    server_ = *Server::Start({.listen = "127.0.0.1:0"}, {&shard_});
    client_ = std::make_unique<PsClient>(loop_, *map_, PsClientOptions());
    v1::View view;
    view.mutable_epoch()->set_term(1);
    for (uint32_t i = 0; i < partitions; ++i) view.add_owners(0);
    view.add_shards()->set_address(absl::StrCat("127.0.0.1:", server_->port()));
    EXPECT_TRUE(client_->SetView(view));
  }

  // The plan for these keys and for the tensor.
  RequestPlan PlanOf(const std::vector<uint64_t>& keys) const {
    RequestPlan plan(*map_);
    const TableKeys tables[] = {{.table = 0, .keys = keys}};
    plan.Build(tables, /*dense=*/true);
    plan.Route(client_->owners());
    return plan;
  }
  static std::string Packed(const std::vector<float>& values) {
    return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)};
  }
  static std::vector<float> Floats(const std::string& packed) {
    std::vector<float> values(packed.size() / sizeof(float));
    std::memcpy(values.data(), packed.data(), values.size() * sizeof(float));
    return values;
  }

  OneShard shard_;
  EventLoop loop_;
  std::unique_ptr<ParameterMap> map_;
  std::unique_ptr<Server> server_;
  std::unique_ptr<PsClient> client_;
};

}  // namespace capstan

#endif  // CAPSTAN_TESTS_UNIT_CLIENT_ONE_SHARD_H_
