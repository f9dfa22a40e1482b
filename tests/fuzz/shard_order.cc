// What the chief and other shards order of a shard, through its door: views, saves, loads, moves;
// and what the targets of its moves reply. Whatever arrives, it answers; a save that it says is
// done is there and can be read; and it begins anew when it is told to.
//
// First byte: the job's policies. The rest is a list of orders, which get a header that the shard
// accepts here, of replies, and of certificates of those who order from then on.
#include <cstdint>
#include <deque>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "capstan/base/absl_view.h"
#include "capstan/base/background.h"
#include "capstan/base/check.h"
#include "capstan/base/status.h"
#include "capstan/checkpoint/partition_file.h"
#include "capstan/security/role.h"
#include "capstan/v1/ps.pb.h"
#include "capstan/v1/view.pb.h"
#include "ps/door/shard_door.h"
#include "ps/shard/places.h"
#include "ps/transfer/loader.h"
#include "ps/transfer/mover.h"
#include "ps/transfer/replicator.h"
#include "ps/transfer/saver.h"
#include "ps/transfer/staged_partitions.h"
#include "tests/fuzz/caller.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/messages.h"
#include "tests/fuzz/small_shard.h"
#include "tests/lib/faulty_object_store.h"
#include "tests/lib/memory_object_store.h"

namespace capstan::ps {
namespace {

constexpr char kFolder[] = "job";  // Of its checkpoints.

// Folders in memory, each a store. *Thread-safe*.
class Folders {
 public:
  ObjectStore& At(const std::string& uri) {
    absl::MutexLock lock(&mu_);
    std::unique_ptr<ObjectStore>& store = stores_[uri];
    if (store == nullptr) store = MakeMemoryObjectStore();
    return *store;
  }
  StoreOpener Opener() {
    return [this](const std::string& uri) -> absl::StatusOr<std::unique_ptr<ObjectStore>> {
      return std::make_unique<FaultyObjectStore>(At(uri));  // Which has no faults.
    };
  }

 private:
  absl::Mutex mu_;
  std::map<std::string, std::unique_ptr<ObjectStore>> stores_ ABSL_GUARDED_BY(mu_);
};

// What the targets of moves reply next. *Thread-safe*.
class Replies {
 public:
  // The first byte is the code of the reply's status, and the rest is the reply.
  void Add(std::string_view reply) {
    absl::MutexLock lock(&mu_);
    next_.emplace_back(reply);
  }
  std::optional<std::string> Take() {
    absl::MutexLock lock(&mu_);
    if (next_.empty()) return std::nullopt;
    std::string reply = std::move(next_.front());
    next_.pop_front();
    return reply;
  }

 private:
  absl::Mutex mu_;
  std::deque<std::string> next_ ABSL_GUARDED_BY(mu_);
};

// Replies as the input says, and once that is at its end, takes whatever it is sent.
class Target : public MovePeer {
 public:
  explicit Target(Replies& replies) : replies_(replies) {}

  absl::StatusOr<v1::TakePartitionReply> Take(const v1::TakePartitionRequest& request,
                                              absl::FunctionRef<bool()> /*give_up*/) override {
    v1::TakePartitionReply reply;
    reply.set_complete(request.last());
    const std::optional<std::string> next = replies_.Take();
    if (!next) return reply;
    const uint8_t code = next->empty() ? 0 : static_cast<uint8_t>(next->front()) % 17;
    if (code != 0) return absl::Status(static_cast<absl::StatusCode>(code), "the target says no");
    if (next->empty() || !Parse(std::string_view(*next).substr(1), reply)) {
      return absl::InternalError("it cannot be parsed");
    }
    return reply;
  }

 private:
  Replies& replies_;
};

// Asks for the order until it is done or refused.
template <typename Reply>
absl::StatusOr<Reply> Finish(const ShardDoor& door, const AnyMessage& order) {
  for (;;) {
    absl::StatusOr<Reply> reply = CarryOut<Reply>(door, order);
    if (!reply.ok() || reply->done()) return reply;
    absl::SleepFor(absl::Microseconds(20));
  }
}

class Ordered {
 public:
  explicit Ordered(uint8_t choice) : small_(choice) {
    places_.Learn({.checkpoints = kFolder});
    Begin();
  }

  void Hear(uint8_t kind, std::string_view message) {
    switch (KindOf(kind, /*n=*/6, /*further=*/3)) {
      case 0:
        if (!MayCall("Push", {Role::kWorker, Role::kPusher})) return;
        return void(PushTo(door_, shard(), message, caller_.MayTrain()));
      case 1:
        return See(message);
      case 2:
        return MayCall("SavePartitions", {Role::kChief}) ? Save(message) : void();
      case 3:
        return MayCall("LoadPartitions", {Role::kChief}) ? Load(message) : void();
      case 4:
        return MayCall("MovePartitions", {Role::kChief}) ? Move(message) : void();
      case 5:
        return MayCall("TakePartition", {Role::kPs}) ? Take(message) : void();
      case 6:
        return replies_.Add(message);
      case 8:
        return caller_.Become(message);
      default:
        small_.clock.Advance(absl::Seconds(1));
    }
  }

  // Whatever has been, it holds initial values when it is told so.
  void Begin() {
    v1::LoadPartitionsRequest order;
    Accept(shard(), ++timeline_, *order.mutable_header());
    for (int i = 0; i < small_.view.owners_size(); ++i)
      order.add_partitions(static_cast<uint32_t>(i));
    CAPSTAN_CHECK(Finish<v1::LoadPartitionsReply>(door_, order).ok());
    v1::View view = small_.view;
    view.mutable_epoch()->set_term(++term_);
    view.set_timeline(order.header().timeline());
    CAPSTAN_CHECK(small_.shard->SetView(view).ok());
    Follow();
    CheckThatItCanBeSaved(shard());
  }

 private:
  Shard& shard() { return *small_.shard; }
  bool MayCall(std::string_view method, std::initializer_list<Role> roles) const {
    return caller_.MayCall(absl::StrCat("/capstan.v1.Ps/", AbslView(method)), roles);
  }

  // Does what the newest view says.
  void Follow() {
    mover_.Follow();
    staged_.Follow();
    shard().view().Followed(shard().view().newest()->epoch());
  }

  void See(std::string_view message) {
    v1::View view;
    if (!Parse(message, view)) return;
    view.set_timeline(shard().timeline());
    view.mutable_epoch()->set_term(++term_);
    if (!shard().SetView(view).ok()) return;
    Follow();
  }

  void Save(std::string_view message) {
    v1::SavePartitionsRequest order;
    if (!Parse(message, order)) return;
    Accept(shard(), shard().timeline(), *order.mutable_header());
    const auto saved = Finish<v1::SavePartitionsReply>(door_, order);
    if (!saved.ok()) return;
    CAPSTAN_CHECK(places_.CheckWrite(order.uri()).ok());
    for (const v1::SavedFile& file : saved->files()) CheckFile(order.uri(), file);
  }

  void CheckFile(const std::string& uri, const v1::SavedFile& file) {
    const auto object =
        folders_.At(uri).Read(file.name(), {.offset = file.offset(), .length = file.bytes()});
    CAPSTAN_CHECK(object.ok());
    if (file.delta()) return;
    const Catalog& catalog = shard().catalog();
    CAPSTAN_CHECK(DecodePartition(object->bytes, catalog.job(), catalog.layout(),
                                  static_cast<PartitionIndex>(file.partition()))
                      .ok());
  }

  void Load(std::string_view message) {
    v1::LoadPartitionsRequest order;
    if (!Parse(message, order)) return;
    timeline_ += order.header().timeline() % 3;  // 0: that of the last order again.
    Accept(shard(), timeline_, *order.mutable_header());
    (void)Finish<v1::LoadPartitionsReply>(door_, order);
  }

  // What is sent goes on behind the orders that come then.
  void Move(std::string_view message) {
    v1::MovePartitionsRequest order;
    if (!Parse(message, order)) return;
    Accept(shard(), shard().timeline(), *order.mutable_header());
    (void)CarryOut<v1::MovePartitionsReply>(door_, order);
  }

  void Take(std::string_view message) {
    v1::TakePartitionRequest order;
    if (!Parse(message, order)) return;
    Accept(shard(), shard().timeline(), *order.mutable_header());
    (void)door_.Take(order);
  }

  SmallShard small_;
  uint64_t term_ = 1;      // Of the last view,
  uint64_t timeline_ = 1;  // and of the last order to load.
  Places places_;
  Folders folders_;
  Threads threads_;
  const Outside outside_ = {
      .open_store = folders_.Opener(), .background = threads_, .places = &places_};
  StagedPartitions staged_{*small_.shard, threads_};
  Replies replies_;
  Mover mover_{*small_.shard, {.gentle = threads_, .hasty = threads_}, [this](const std::string&) {
                 return std::make_unique<Target>(replies_);
               }};
  Saver saver_{*small_.shard, outside_};
  Loader loader_{*small_.shard, outside_};
  Replicator replicator_{*small_.shard};
  const ServedShard served_{*small_.shard, saver_, loader_, mover_, staged_, replicator_};
  const ShardDoor door_{&served_};
  Caller caller_;
};

}  // namespace
}  // namespace capstan::ps

void Fuzz(std::string_view input) {
  using namespace capstan;
  if (input.empty()) return;
  ps::Ordered ordered(static_cast<uint8_t>(input[0]));
  input.remove_prefix(1);
  ForEachMessage(
      input, [&ordered](uint8_t kind, std::string_view message) { ordered.Hear(kind, message); });
  ordered.Begin();
}
