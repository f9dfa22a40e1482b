#include "ps/partition/replicate_message.h"

#include <google/protobuf/io/coded_stream.h>

#include <cstdint>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "capstan/wire/cursor.h"

namespace capstan::ps {
namespace {

using google::protobuf::io::CodedOutputStream;

constexpr uint32_t kOperations = v1::ReplicateRequest::kOperationsFieldNumber;
constexpr uint32_t kPushes = v1::ReplicateRequest::kPushesFieldNumber;

grpc::Slice Serialized(const v1::ReplicateRequest& request) {
  grpc::Slice slice(request.ByteSizeLong());
  // Nobody else refers to the slice yet, so it may be written to.
  request.SerializeWithCachedSizesToArray(const_cast<uint8_t*>(slice.begin()));
  return slice;
}

// Returns the tag and length that stand before a push of `size` bytes.
grpc::Slice FrameOf(size_t size) {
  uint8_t frame[2 * sizeof(uint64_t)];
  uint8_t* end = CodedOutputStream::WriteTagToArray(
      kPushes << 3 | static_cast<uint32_t>(wire::WireType::kBytes), frame);
  end = CodedOutputStream::WriteVarint32ToArray(static_cast<uint32_t>(size), end);
  return grpc::Slice(frame, static_cast<size_t>(end - frame));
}

}  // namespace

void SentPushes::Add(const PushShare& share, v1::PushOperation& operation) {
  const auto [found, fresh] = index_.try_emplace(share.push.get(), pushes_.size());
  if (fresh) pushes_.push_back({share.push, {}});
  std::vector<size_t>& places = pushes_[found->second].places;
  operation.set_push(static_cast<uint32_t>(found->second));
  operation.set_place(static_cast<uint32_t>(places.size()));
  places.push_back(share.place);
}

grpc::ByteBuffer SentPushes::Write(const v1::ReplicateRequest& request) const {
  std::vector<grpc::Slice> slices;
  slices.push_back(Serialized(request));
  for (const Sent& sent : pushes_) {
    const size_t frame = slices.size();
    slices.emplace_back();
    slices[frame] = FrameOf(sent.push->AppendShares(sent.places, slices));
  }
  return grpc::ByteBuffer(slices.data(), slices.size());
}

absl::StatusOr<std::unique_ptr<const ReplicateMessage>> ReplicateMessage::Read(
    const grpc::ByteBuffer& buffer) {
  std::unique_ptr<ReplicateMessage> message(new ReplicateMessage(buffer));
  if (message->ReadFields()) return std::unique_ptr<const ReplicateMessage>(std::move(message));
  return absl::InvalidArgumentError("a ReplicateRequest is malformed, or has too many items");
}

bool ReplicateMessage::ReadFields() {
  wire::Cursor cursor(message_);
  std::string others;
  int operations = 0;
  for (wire::Tag tag; cursor.NextField(tag);) {
    if (tag.field == kPushes && tag.type == wire::WireType::kBytes) {
      pushes_.push_back(cursor.ReadBytes());
    } else {
      const wire::Bytes field = cursor.Skip(tag);
      const size_t size = others.size();
      others.resize(size + field.size());
      field.CopyTo(others.data() + size);
      if (tag.field == kOperations) ++operations;
    }
    if (operations > kMostItems || pushes_.size() > size_t{kMostItems}) return false;
  }
  return cursor.ok() && head_->ParseFromString(others);
}

grpc::ByteBuffer ReplicateMessage::push(size_t i) const {
  std::vector<grpc::Slice> slices;
  pushes_[i].ShareAs(slices);
  return grpc::ByteBuffer(slices.data(), slices.size());
}

}  // namespace capstan::ps
