#include "tests/bench/dataplane/client.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <iostream>

#include "absl/strings/str_cat.h"
#include "capstan/base/check.h"
#include "tests/bench/dataplane/measure.h"

namespace capstan::bench {
namespace {

constexpr size_t kFillBatch = 10'000;

[[noreturn]] void Die(const absl::Status& status) {
  std::cerr << "dataplane: " << status << "\n";
  exit(1);
}

template <typename Message>
Message Read(const std::string& path) {
  Message message;
  std::ifstream file(path, std::ios::binary);
  if (!file || !message.ParseFromIstream(&file)) {
    Die(absl::NotFoundError(absl::StrCat(path, " cannot be read as a message")));
  }
  return message;
}

}  // namespace

ServedJob ReadServedJob(const std::string& folder) {
  return {.job = Read<v1::JobSpec>(folder + "/job.binpb"),
          .view = Read<v1::View>(folder + "/view.binpb")};
}

Client::Client(const ServedJob& served, v1::Dtype dtype)
    : map_(*ParameterMap::Create(served.job)),
      client_(loop_, map_, {.chunks_in_flight = Setting("CAPSTAN_IN_FLIGHT", 4), .dtype = dtype}),
      // Another process's stream is another session: a shard takes no sequence number twice.
      session_(StreamId::Session(static_cast<uint64_t>(getpid()) * 8 + dtype)),
      plan_(map_),
      dim_(served.job.tables().empty() ? 0 : served.job.tables(0).dim()) {
  CAPSTAN_CHECK(client_.SetView(served.view));
  versions_.resize(map_.partition_count());
  dense_.resize(map_.layout().flat_size(), 1e-3f);
}

void Client::Plan(absl::Span<const uint64_t> keys) {
  const std::array<TableKeys, 1> tables = {TableKeys{0, keys}};
  plan_.Build(dim_ == 0 ? absl::Span<const TableKeys>() : tables, !dense_.empty());
  plan_.Route(client_.owners());
  rows_.resize(std::max(rows_.size(), keys.size() * dim_));
}

void Client::Pull() {
  const std::array<float*, 1> rows = {rows_.data()};
  const PullResult result =
      client_.PullAll(plan_, {.timeout = absl::Seconds(60)},
                      {.rows = rows, .dense = dense_.data(), .versions = &versions_});
  if (!result.status.ok()) Die(result.status);
}

void Client::Push(const float* rows, const float* dense) {
  const std::array<const float*, 1> matrices = {rows};
  const PushResult result = client_.PushAll(
      plan_, {.stream = StreamPush{session_, seq_, {1, 1}, seq_}, .timeout = absl::Seconds(60)},
      {.rows = matrices, .dense = dense, .versions = &versions_});
  ++seq_;
  if (!result.status.ok()) Die(result.status);
  if (result.count(v1::OUTCOME_APPLIED) == 0) {
    Die(absl::FailedPreconditionError("the shard has applied nothing of a push"));
  }
}

void Client::Fill(uint64_t count, uint64_t (*key_of)(uint64_t)) {
  std::vector<uint64_t> keys;
  const std::vector<float> gradient(kFillBatch * dim_, 1e-3f);
  for (uint64_t first = 0; first < count; first += kFillBatch) {
    keys.resize(std::min<uint64_t>(kFillBatch, count - first));
    for (size_t i = 0; i < keys.size(); ++i) keys[i] = key_of(first + i);
    Plan(keys);
    Push(gradient.data(), nullptr);
  }
}

}  // namespace capstan::bench
