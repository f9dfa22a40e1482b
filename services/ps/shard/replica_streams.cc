#include "ps/shard/replica_streams.h"

#include <algorithm>
#include <utility>

namespace capstan::ps {
namespace {

v1::Operation OperationOf(const RoundCommit& closed) {
  v1::Operation operation;
  ToProto(closed, *operation.mutable_closed());
  return operation;
}

}  // namespace

std::shared_ptr<ReplicaStream> ReplicaStreams::To(const ReplicaTarget& target, uint64_t timeline,
                                                  const ClosedLog& kept) {
  absl::MutexLock lock(&mu_);
  std::shared_ptr<ReplicaStream>& stream = streams_[target.incarnation];
  if (stream != nullptr && stream->name().timeline == timeline) return stream;
  stream = std::make_shared<ReplicaStream>(target, ReplicaStreamName{++last_number_, timeline},
                                           limit_, [this] { Wake(); });
  for (const RoundCommit& closed : kept.After(0)) stream->Append(OperationOf(closed));
  if (!kept.empty()) stream->Wake();
  return stream;
}

void ReplicaStreams::KeepOnly(const std::set<Incarnation>& targets) {
  absl::MutexLock lock(&mu_);
  std::erase_if(streams_,
                [&targets](const auto& stream) { return !targets.contains(stream.first); });
}

std::vector<std::shared_ptr<ReplicaStream>> ReplicaStreams::All() const {
  std::vector<std::shared_ptr<ReplicaStream>> all;
  absl::MutexLock lock(&mu_);
  for (const auto& [incarnation, stream] : streams_) all.push_back(stream);
  return all;
}

void ReplicaStreams::TellClosed(const RoundCommit& closed) {
  for (const std::shared_ptr<ReplicaStream>& stream : All()) {
    stream->Append(OperationOf(closed));
    stream->Wake();
  }
}

void ReplicaStreams::TellFinished(TrainerId trainer, uint64_t clock) {
  for (const std::shared_ptr<ReplicaStream>& stream : All()) {
    v1::Operation operation;
    operation.mutable_clock()->set_trainer(Raw(trainer));
    operation.mutable_clock()->set_clock(clock);
    stream->Append(std::move(operation));
    stream->Wake();
  }
}

void ReplicaStreams::SetLimit(size_t bytes) {
  absl::MutexLock lock(&mu_);
  limit_ = bytes;
}

size_t ReplicaStreams::bytes() const {
  size_t bytes = 0;
  for (const std::shared_ptr<ReplicaStream>& stream : All()) bytes += stream->bytes();
  return bytes;
}

size_t ReplicaStreams::most_bytes() const {
  size_t most = 0;
  for (const std::shared_ptr<ReplicaStream>& stream : All()) most = std::max(most, stream->bytes());
  return most;
}

void ReplicaStreams::SetWake(std::function<void()> wake) {
  absl::MutexLock lock(&wake_mu_);
  wake_ = std::move(wake);
}

void ReplicaStreams::Wake() const {
  absl::MutexLock lock(&wake_mu_);
  if (wake_) wake_();
}

void ReplicaStreams::Close() {
  for (const std::shared_ptr<ReplicaStream>& stream : All()) stream->Close();
}

}  // namespace capstan::ps
