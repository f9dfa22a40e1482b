// A job of two shards and a chief that answer what a test wants.
#ifndef CAPSTAN_TESTS_UNIT_CLIENT_FAKE_JOB_H_
#define CAPSTAN_TESTS_UNIT_CLIENT_FAKE_JOB_H_

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "capstan/client/job_client.h"
#include "capstan/rpc/server.h"
#include "capstan/v1/chief.grpc.pb.h"
#include "capstan/v1/job_reader.grpc.pb.h"
#include "capstan/v1/ps.grpc.pb.h"

namespace capstan {

inline constexpr uint32_t kPartitionsOfJob = 4;
inline constexpr uint32_t kDim = 3;
inline constexpr uint32_t kWeights = 40'000;  // Of the second tensor: several blocks.

inline v1::JobSpec Job() {
  v1::JobSpec job;
  job.set_job("ctr");
  job.set_partition_count(kPartitionsOfJob);
  for (const char* name : {"user", "item"}) {
    v1::TableSpec& table = *job.add_tables();
    table.set_id(static_cast<uint32_t>(job.tables_size()));
    table.set_name(name);
    table.set_dim(kDim);
  }
  for (const uint32_t size : {7u, kWeights}) {
    v1::TensorSpec& tensor = *job.add_tensors();
    tensor.set_name(absl::StrCat("w", size));
    tensor.add_shape(size);
  }
  return job;
}

// The value of an element of a row, and of a block.
inline float OfRow(uint32_t table, uint64_t key, uint32_t i) {
  return static_cast<float>(table * 1000 + key * 10 + i);
}
inline float OfBlock(uint32_t block, uint32_t i) { return static_cast<float>(block * 100'000 + i); }

inline grpc::ServerUnaryReactor* Answer(grpc::CallbackServerContext* context,
                                        const grpc::Status& status) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  reactor->Finish(status);
  return reactor;
}

// Answers what the functions above say, or refuses.
class FakeShard final : public v1::Ps::CallbackService {
 public:
  grpc::ServerUnaryReactor* Pull(grpc::CallbackServerContext* context,
                                 const v1::PullRequest* request, v1::PullReply* reply) override {
    ++pulls;
    if (!request->evaluation()) ++training_pulls;
    const ParameterMap map = *ParameterMap::Create(Job());
    for (const v1::PartitionPull& wanted : request->partitions()) {
      v1::PartitionValues& values = *reply->add_partitions();
      values.set_partition(wanted.partition());
      for (const v1::TableKeys& keys : wanted.tables()) {
        v1::TableValues& rows = *values.add_tables();
        rows.set_table(keys.table());
        for (size_t at = 0; at < keys.keys().size(); at += sizeof(uint64_t)) {
          uint64_t key = 0;
          std::memcpy(&key, keys.keys().data() + at, sizeof(key));
          for (uint32_t i = 0; i < kDim; ++i) Append(OfRow(keys.table(), key, i), rows);
        }
      }
      for (const uint32_t block : wanted.blocks()) {
        v1::BlockValues& of = *values.add_blocks();
        of.set_block(block);
        for (uint32_t i = 0; i < map.layout().block(BlockId{block}).length; ++i) {
          Append(OfBlock(block, i), of);
        }
      }
    }
    const bool refused = refuses > 0 && refuses-- > 0;
    return Answer(context, refused ? refusal : grpc::Status::OK);
  }

  // Notes the push, and answers as `answer` says.
  grpc::ServerUnaryReactor* Push(grpc::CallbackServerContext* context,
                                 const v1::PushRequest* request, v1::PushReply* reply) override {
    absl::MutexLock lock(&mu);
    pushes.push_back(*request);
    for (const v1::PartitionGradient& of : request->partitions()) {
      v1::PartitionOutcome& outcome = *reply->add_partitions();
      outcome.set_partition(of.partition());
      if (of.tables_size() > 0) outcome.set_sparse(answer(of.partition()));
      if (of.blocks_size() > 0) outcome.set_dense(answer(of.partition()));
    }
    reply->set_retry_after_seconds(hint_seconds);
    return Answer(context, grpc::Status::OK);
  }

  std::atomic<int> pulls = 0;
  std::atomic<int> training_pulls = 0;
  std::atomic<int> refuses = 0;  // So many pulls.
  grpc::Status refusal{grpc::StatusCode::FAILED_PRECONDITION, "not the owner"};

  absl::Mutex mu;
  double hint_seconds ABSL_GUARDED_BY(mu) = 0;  // Of every answer to a push.
  std::vector<v1::PushRequest> pushes ABSL_GUARDED_BY(mu);
  std::function<v1::Outcome(uint32_t partition)> answer ABSL_GUARDED_BY(mu) = [](uint32_t) {
    return v1::OUTCOME_APPLIED;
  };

 private:
  template <typename Values>
  static void Append(float value, Values& values) {
    values.mutable_values()->append(reinterpret_cast<const char*>(&value), sizeof(value));
  }
};

// Tells one view, and holds the stream.
class OneView final : public grpc::ServerWriteReactor<v1::View> {
 public:
  explicit OneView(v1::View view) : view_(std::move(view)) { StartWrite(&view_); }
  void OnCancel() override { Finish(grpc::Status::CANCELLED); }
  void OnDone() override { delete this; }

 private:
  const v1::View view_;
};

class FakeChief final : public v1::Chief::CallbackService {
 public:
  grpc::ServerUnaryReactor* GetStatus(grpc::CallbackServerContext* context,
                                      const v1::GetStatusRequest*,
                                      v1::GetStatusReply* reply) override {
    reply->set_job("ctr");
    return Answer(context, status);
  }
  grpc::ServerWriteReactor<v1::View>* WatchView(grpc::CallbackServerContext*,
                                                const v1::WatchViewRequest*) override {
    return new OneView(view);
  }

  grpc::Status status;
  v1::View view;
};

class FakeReader final : public v1::JobReader::CallbackService {
 public:
  grpc::ServerUnaryReactor* DescribeJob(grpc::CallbackServerContext* context,
                                        const v1::DescribeJobRequest*,
                                        v1::DescribeJobReply* reply) override {
    *reply->mutable_job() = Job();
    return Answer(context, status);
  }

  grpc::Status status;
};

class FakeJobTest : public testing::Test {
 protected:
  FakeJobTest() {
    for (const uint32_t i : {0u, 1u}) {
      shard_servers_[i] = *Server::Start({.listen = "127.0.0.1:0"}, {&shards_[i]});
      v1::ShardInfo& info = *chief_.view.add_shards();
      info.set_index(i);
      info.set_address(absl::StrCat("127.0.0.1:", shard_servers_[i]->port()));
    }
    chief_.view.mutable_epoch()->set_term(1);
    chief_.view.set_state(v1::JOB_STATE_RUNNING);
    chief_.view.set_timeline(1);
    for (uint32_t i = 0; i < kPartitionsOfJob; ++i) chief_.view.add_owners(i % 2);
    server_ = *Server::Start({.listen = "127.0.0.1:0"}, {&chief_, &reader_});
  }

  std::string address() const { return absl::StrCat("127.0.0.1:", server_->port()); }

  std::unique_ptr<JobClient> Connect(JobClientOptions options = {}) {
    options.chief = address();
    return *JobClient::Create(std::move(options));
  }

  FakeShard shards_[2];
  FakeChief chief_;
  FakeReader reader_;
  std::unique_ptr<Server> shard_servers_[2];
  std::unique_ptr<Server> server_;
};

}  // namespace capstan

#endif  // CAPSTAN_TESTS_UNIT_CLIENT_FAKE_JOB_H_
