#include "ps/partition/replicate_message.h"

#include <google/protobuf/io/coded_stream.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "capstan/placement/view_epoch.h"
#include "capstan/wire/cursor.h"

namespace capstan::ps {
namespace {

using google::protobuf::io::CodedOutputStream;

constexpr uint32_t kOperations = v1::ReplicateRequest::kOperationsFieldNumber;
constexpr uint32_t kPushes = v1::ReplicateRequest::kPushesFieldNumber;

// The tag and length before a field of bytes. *Immutable*.
class Frame {
 public:
  // The field `number`, of `size` bytes.
  Frame(uint32_t number, size_t size) {
    uint8_t* end = CodedOutputStream::WriteTagToArray(
        number << 3 | static_cast<uint32_t>(wire::WireType::kBytes), bytes_);
    end = CodedOutputStream::WriteVarint32ToArray(static_cast<uint32_t>(size), end);
    size_ = static_cast<size_t>(end - bytes_);
  }

  const uint8_t* data() const { return bytes_; }
  size_t size() const { return size_; }

 private:
  uint8_t bytes_[2 * sizeof(uint64_t)];
  size_t size_;
};

void Append(const wire::Bytes& bytes, std::string& text) {
  const size_t size = text.size();
  text.resize(size + bytes.size());
  bytes.CopyTo(text.data() + size);
}

}  // namespace

void SentOperations::Add(const ToldPush& push) {
  push_.set_partition(static_cast<uint32_t>(Raw(push.partition)));
  ToProto(push.pair, *push_.mutable_pair());
  v1::PushOperation& told = *push_.mutable_push();
  AddPlace(push.gradient, told);
  told.set_progress_examples(push.result.progress_examples);
  told.set_dense(push.result.dense);
  told.set_sparse(push.result.sparse);
  told.set_dense_version(push.result.dense_version);
  told.set_sparse_version(push.result.sparse_version);
  Add(push_);
}

// Fills in where the gradient of this operation will be.
void SentOperations::AddPlace(const PushShare& gradient, v1::PushOperation& operation) {
  const auto [found, fresh] = index_.try_emplace(gradient.push.get(), pushes_.size());
  if (fresh) pushes_.push_back({gradient.push, {}});
  std::vector<size_t>& places = pushes_[found->second].places;
  operation.set_push(static_cast<uint32_t>(found->second));
  operation.set_place(static_cast<uint32_t>(places.size()));
  places.push_back(gradient.place);
}

void SentOperations::Add(const v1::Operation& operation) {
  const size_t size = operation.ByteSizeLong();
  const Frame frame(kOperations, size);
  operations_.append(reinterpret_cast<const char*>(frame.data()), frame.size());
  const size_t begin = operations_.size();
  operations_.resize(begin + size);
  operation.SerializeWithCachedSizesToArray(reinterpret_cast<uint8_t*>(operations_.data() + begin));
  ++size_;
}

grpc::ByteBuffer SentOperations::Write(const v1::ReplicateRequest& head) const {
  const size_t head_bytes = head.ByteSizeLong();
  std::vector<grpc::Slice> slices;
  slices.emplace_back(head_bytes + operations_.size());
  // Nobody else refers to the slice yet, so it may be written to.
  auto* const begin = const_cast<uint8_t*>(slices.front().begin());
  head.SerializeWithCachedSizesToArray(begin);
  std::copy(operations_.begin(), operations_.end(), begin + head_bytes);
  for (const Sent& sent : pushes_) {
    const size_t at = slices.size();
    slices.emplace_back();
    const Frame frame(kPushes, sent.push->AppendShares(sent.places, slices));
    slices[at] = grpc::Slice(frame.data(), frame.size());
  }
  return grpc::ByteBuffer(slices.data(), slices.size());
}

absl::StatusOr<std::unique_ptr<const ReplicateMessage>> ReplicateMessage::Read(
    const grpc::ByteBuffer& buffer) {
  std::unique_ptr<ReplicateMessage> message(new ReplicateMessage(buffer));
  if (message->ReadFields()) return std::unique_ptr<const ReplicateMessage>(std::move(message));
  return absl::InvalidArgumentError("a ReplicateRequest is malformed, or has too many items");
}

// Fields that are not pushes are read in runs of adjacent ones: in a request written by
// SentOperations all of them are one run.
bool ReplicateMessage::ReadFields() {
  wire::Cursor cursor(message_);
  std::string others;
  wire::Bytes run;
  int operations = 0;
  for (wire::Tag tag; cursor.NextField(tag);) {
    if (tag.field == kPushes && tag.type == wire::WireType::kBytes) {
      Append(std::exchange(run, wire::Bytes()), others);
      pushes_.push_back(cursor.ReadBytes());
    } else {
      const wire::Bytes field = cursor.Skip(tag);
      run = run.empty() ? field : run.Prolonged(run.size() + field.size());
      if (tag.field == kOperations) ++operations;
    }
    if (operations > kMostItems || pushes_.size() > size_t{kMostItems}) return false;
  }
  Append(run, others);
  return cursor.ok() && head_->ParseFromString(others);
}

grpc::ByteBuffer ReplicateMessage::push(size_t i) const {
  std::vector<grpc::Slice> slices;
  pushes_[i].ShareAs(slices);
  return grpc::ByteBuffer(slices.data(), slices.size());
}

}  // namespace capstan::ps
