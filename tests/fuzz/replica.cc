// What the owner of partitions tells the shard that backs them up: whatever arrives, it answers;
// and what it has not given up can take the owner's place, and be saved.
//
// First byte: the job's policies. The rest is a list of requests, whose operations are numbered on
// and are of the present pairs, unless the kind of the message says that they are as they came.
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "capstan/base/check.h"
#include "capstan/rpc/event_loop.h"
#include "capstan/v1/ps.pb.h"
#include "capstan/v1/view.pb.h"
#include "google/protobuf/util/message_differencer.h"
#include "ps/partition/partition_content.h"
#include "ps/shard/shard.h"
#include "ps/transfer/replicator.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/messages.h"
#include "tests/fuzz/small_shard.h"

namespace capstan::ps {
namespace {

class Backup {
 public:
  explicit Backup(uint8_t choice) : small_(choice, SmallShard::Standing::kBackup) {
    CAPSTAN_CHECK(shard().contents().BeginLoad(small_.view.timeline()).ok());
    for (int i = 0; i < small_.view.owners_size(); ++i) Adopt(static_cast<PartitionIndex>(i));
    shard().view().Followed(shard().view().newest()->epoch());
  }

  void Hear(uint8_t kind, std::string_view message) {
    v1::ReplicateRequest request;
    CheckRead(message);
    if (!Parse(message, request)) return;
    request.mutable_header()->set_timeline(shard().timeline());
    if (kind % 2 == 0) {
      request.set_source(Raw(SmallShard::kOther));
      request.set_stream(1);
      request.set_first(taken_ + 1);
      for (v1::Operation& operation : *request.mutable_operations()) {
        *operation.mutable_pair() = small_.view.pairs(0).id();
      }
    }
    const auto read = ReplicateMessage::Read(EventLoop::Serialize(request));
    CAPSTAN_CHECK(read.ok());
    const auto reply = replicator_.Take(**read);
    if (!reply.ok()) return;
    for (const uint64_t refused : reply->refused()) CAPSTAN_CHECK(refused <= reply->taken());
    if (kind % 2 != 0) return;
    CAPSTAN_CHECK(reply->taken() == taken_ + static_cast<uint64_t>(request.operations_size()));
    taken_ = reply->taken();
  }

  // Its owner is gone.
  void Promote() {
    v1::View view = small_.view;
    view.mutable_epoch()->set_n(view.epoch().n() + 1);
    view.clear_pairs();
    for (int i = 0; i < view.owners_size(); ++i) {
      if (shard().partitions()[static_cast<PartitionIndex>(i)].standby() == Partition::kSpoiled) {
        continue;
      }
      view.set_owners(i, 0);
      v1::PartitionCopy& copy = *view.add_copies();
      copy.set_partition(static_cast<uint32_t>(i));
      *copy.mutable_move() = small_.view.pairs(i).move();
    }
    CAPSTAN_CHECK(shard().SetView(view).ok());
    shard().backups().FollowStandbys();
    CAPSTAN_CHECK(shard().backups().CheckOwned().ok());
    CheckThatItCanBeSaved(shard());
  }

 private:
  // Whatever bytes come, the shard reads of them what the generated class does.
  static void CheckRead(std::string_view message) {
    const grpc::Slice slice(message.data(), message.size());
    const auto read = ReplicateMessage::Read(grpc::ByteBuffer(&slice, 1));
    v1::ReplicateRequest request;
    CAPSTAN_CHECK(read.ok() == Parse(message, request));
    if (!read.ok()) return;
    CAPSTAN_CHECK((*read)->pushes() == static_cast<size_t>(request.pushes_size()));
    request.clear_pushes();
    CAPSTAN_CHECK(google::protobuf::util::MessageDifferencer::Equals(request, (*read)->head()));
  }

  Shard& shard() { return *small_.shard; }

  void Adopt(PartitionIndex index) {
    const Timeline timeline{shard().timeline()};
    auto content = InitialContent(shard().catalog(), index, timeline, shard().slabs());
    CAPSTAN_CHECK(content.ok());
    const std::optional<ViewedStandby> standby = shard().view().newest()->Standby(index);
    content->origin = standby->move;
    CAPSTAN_CHECK(shard().rounds().Expect(timeline, RoundCommit()).ok());
    MovedPartition moved{.timeline = timeline, .content = *std::move(content)};
    CAPSTAN_CHECK(shard().contents().Adopt(index, std::move(moved), *standby).ok());
  }

  SmallShard small_;
  Replicator replicator_{*small_.shard};
  uint64_t taken_ = 0;
};

}  // namespace
}  // namespace capstan::ps

void Fuzz(std::string_view input) {
  using namespace capstan;
  if (input.empty()) return;
  ps::Backup backup(static_cast<uint8_t>(input[0]));
  input.remove_prefix(1);
  ForEachMessage(input,
                 [&backup](uint8_t kind, std::string_view message) { backup.Hear(kind, message); });
  backup.Promote();
}
