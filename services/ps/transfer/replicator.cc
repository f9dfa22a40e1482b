#include "ps/transfer/replicator.h"

#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "capstan/base/failpoint.h"
#include "capstan/base/status.h"
#include "capstan/placement/view_epoch.h"

namespace capstan::ps {
namespace {

// The pushes of a request, each of which is parsed once, when the first operation needs it.
class ReplicatedPushes {
 public:
  ReplicatedPushes(Shard& shard, const ReplicateMessage& message)
      : shard_(shard), message_(message), read_(message.pushes()) {}

  // Returns an empty share for an operation that is not a push. INVALID_ARGUMENT: the operation
  // names a push that is not in the request, or that has no share for its partition; other errors
  // are those of PushMessage::Read.
  absl::StatusOr<PushShare> Of(const v1::Operation& operation) {
    if (!operation.has_push()) return PushShare();
    const v1::PushOperation& of = operation.push();
    if (of.push() >= read_.size()) return absl::InvalidArgumentError("a push that is not here");
    std::optional<Read>& read = read_[of.push()];
    if (!read) read = shard_.backups().ReadPush(message_.push(of.push()));
    CAPSTAN_RETURN_IF_ERROR(read->status());
    const std::shared_ptr<const PushMessage>& push = **read;
    if (of.place() >= push->partitions().size() ||
        push->partitions()[of.place()].partition != operation.partition()) {
      return absl::InvalidArgumentError("a push of other partitions");
    }
    return PushShare{push, of.place()};
  }

 private:
  using Read = absl::StatusOr<std::shared_ptr<const PushMessage>>;

  Shard& shard_;
  const ReplicateMessage& message_;
  std::vector<std::optional<Read>> read_;
};

// Returns true if the view that made the operation's pair is later than `followed`, or if `source`
// does not own the operation's partition in `newest`. Otherwise a holder of one shard's certificate
// could write to what another shard has backed up here.
bool IsEarly(ViewEpoch followed, const OwnView& newest, Incarnation source,
             const v1::Operation& operation) {
  if (operation.what_case() == v1::Operation::WHAT_NOT_SET) return false;
  if (operation.has_closed() || operation.has_clock()) return !newest.BacksUpFor(source);
  const ViewEpoch pair = ViewEpochFromProto(operation.pair());
  if (followed < pair) return true;
  const std::optional<ViewedStandby> named =
      newest.Standby(static_cast<PartitionIndex>(operation.partition()));
  return named && named->id == pair && named->owner != source;
}

}  // namespace

std::shared_ptr<Replicator::Source> Replicator::Find(Incarnation source) {
  absl::MutexLock lock(&mu_);
  std::shared_ptr<Source>& found = sources_[source];
  if (found == nullptr) found = std::make_shared<Source>();
  return found;
}

absl::StatusOr<v1::ReplicateReply> Replicator::Take(const ReplicateMessage& message) {
  const v1::ReplicateRequest& request = message.head();
  if (request.first() == 0 || request.stream() == 0) {
    return absl::InvalidArgumentError(absl::StrCat(request.operations_size(),
                                                   " operations from number ", request.first(),
                                                   " on, of stream ", request.stream()));
  }
  CAPSTAN_RETURN_IF_ERROR(CAPSTAN_FAILPOINT_STATUS("replica.received"));
  const ViewEpoch followed = shard_.view().followed();
  const std::shared_ptr<const OwnView> newest = shard_.view().newest();
  if (!newest->Names(Incarnation{request.source()})) {
    return absl::UnavailableError(absl::StrCat(
        "no process of incarnation ", absl::Hex(request.source()), " is in the newest view here"));
  }
  const std::shared_ptr<Source> source = Find(Incarnation{request.source()});
  absl::MutexLock lock(&source->mu);
  if (request.stream() < source->stream) {
    return absl::FailedPreconditionError(
        absl::StrCat("stream ", request.stream(), " is over, ", source->stream, " has begun"));
  }
  if (request.stream() > source->stream) {
    source->stream = request.stream();
    source->taken = 0;
    source->refused.clear();
  }
  if (request.first() > source->taken + 1) {
    return absl::OutOfRangeError(
        absl::StrCat("operation ", request.first(), " has come, ", source->taken + 1, " has not"));
  }
  // The owner knows the results of the operations before the first one.
  source->refused.erase(source->refused.begin(), source->refused.lower_bound(request.first()));
  ReplicatedPushes pushes(shard_, message);
  uint64_t number = request.first() - 1;
  for (int i = 0; i < request.operations_size(); ++i) {
    const v1::Operation& operation = request.operations(i);
    if (++number <= source->taken) continue;
    if (i + 1 < request.operations_size()) {
      shard_.partitions().AskFor(
          static_cast<PartitionIndex>(request.operations(i + 1).partition()));
    }
    if (IsEarly(followed, *newest, Incarnation{request.source()}, operation)) break;
    const bool is_void = operation.what_case() == v1::Operation::WHAT_NOT_SET;
    const absl::Status replayed =
        is_void
            ? absl::OkStatus()
            : shard_.backups().Replay(Incarnation{request.source()}, request.header().timeline(),
                                      operation, pushes.Of(operation));
    if (!replayed.ok()) source->refused.insert(number);
    source->taken = number;
    CAPSTAN_FAILPOINT("replica.taken");
  }
  shard_.backups().LimitPutOff();
  v1::ReplicateReply reply;
  reply.set_taken(source->taken);
  for (const uint64_t refused : source->refused) reply.add_refused(refused);
  return reply;
}

void Replicator::Follow() {
  const std::shared_ptr<const OwnView> view = shard_.view().newest();
  absl::MutexLock lock(&mu_);
  std::erase_if(sources_, [&view](const auto& source) { return !view->Names(source.first); });
}

}  // namespace capstan::ps
