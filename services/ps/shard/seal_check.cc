#include "ps/shard/seal_check.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "capstan/base/ids.h"
#include "capstan/base/status.h"
#include "capstan/consistency/generation.h"
#include "ps/shard/rejection.h"

namespace capstan::ps {
namespace {

std::string NameOf(const v1::Generation& generation) {
  return absl::StrCat("generation ", generation.term(), ".", generation.count());
}

}  // namespace

// Whoever shows a wrong seal may lie, and whoever shows none may be of an earlier version; but it
// may also be this shard that has not heard of the present chief's key yet. So the caller is to
// come again, which costs its task no failure, and the shard asks for the key with its next
// heartbeat.
absl::Status SealCheck::Refuse(uint64_t shown, const std::string& what) const {
  if (shown != 0) in_doubt_.store(true, std::memory_order_relaxed);
  return WithReason(absl::UnavailableError(absl::StrCat(
                        what, ": ", shown == 0 ? "it bears no seal" : "its seal is wrong",
                        "; what the chief and the coordinator say is given back seal and all")),
                    "seal");
}

void SealCheck::SetSealer(Sealer sealer) {
  auto shared = std::make_shared<const Sealer>(std::move(sealer));
  absl::MutexLock lock(&mu_);
  sealer_.swap(shared);
}

std::shared_ptr<const Sealer> SealCheck::sealer() const {
  absl::ReaderMutexLock lock(&mu_);
  return sealer_;
}

absl::Status SealCheck::CheckLane(uint64_t timeline, uint32_t lane,
                                  const v1::Generation& generation) const {
  if (lane >= lanes_) {
    return absl::InvalidArgumentError(absl::StrCat("lane ", lane, ": the job has ", lanes_));
  }
  const std::shared_ptr<const Sealer> sealer = this->sealer();
  const uint64_t made = sealer->OfLane(timeline, lane, GenerationFromProto(generation));
  if (sealer->IsRight(generation.seal(), made)) return absl::OkStatus();
  return Refuse(generation.seal(), absl::StrCat("lane ", lane, ", ", NameOf(generation)));
}

absl::Status SealCheck::CheckStream(uint64_t timeline, const v1::StreamPush& stream) const {
  const StreamId id{stream.stream()};
  if (id.is_session()) return absl::OkStatus();  // Its client's own; the ledger bounds them.
  const std::shared_ptr<const Sealer> sealer = this->sealer();
  const v1::Generation& generation = stream.generation();
  const uint64_t made = sealer->OfTask(timeline, id, GenerationFromProto(generation));
  if (sealer->IsRight(generation.seal(), made)) return absl::OkStatus();
  return Refuse(generation.seal(), absl::StrCat("stream ", id.value, ", ", NameOf(generation)));
}

absl::Status SealCheck::CheckPush(const v1::PushRequest& head) const {
  const uint64_t timeline = head.header().timeline();
  if (!head.has_stage()) {
    return head.has_stream() ? CheckStream(timeline, head.stream()) : absl::OkStatus();
  }
  const v1::Generation& generation = head.stage().generation();
  CAPSTAN_RETURN_IF_ERROR(CheckLane(timeline, head.stage().lane(), generation));
  // A lane runner pushes what is not synchronous under the same lease.
  const bool one_lease = !head.has_stream() || GenerationFromProto(head.stream().generation()) ==
                                                   GenerationFromProto(generation);
  return one_lease ? absl::OkStatus() : CheckStream(timeline, head.stream());
}

absl::Status SealCheck::CheckRound(uint64_t timeline, const RoundCommit& closed) const {
  const std::shared_ptr<const Sealer> sealer = this->sealer();
  if (sealer->IsRight(closed.seal, sealer->OfRound(timeline, closed))) return absl::OkStatus();
  return Refuse(closed.seal, absl::StrCat("closed round ", closed.round));
}

uint64_t SealCheck::OfRound(uint64_t timeline, const RoundCommit& closed) const {
  return sealer()->OfRound(timeline, closed);
}

uint64_t SealCheck::ProgressOf(const v1::PushRequest& head) const {
  const uint64_t examples = head.progress_examples();
  if (examples == 0) return 0;
  const std::shared_ptr<const Sealer> sealer = this->sealer();
  const uint64_t made = sealer->OfExamples(head.header().timeline(), examples);
  return sealer->IsRight(head.progress_seal(), made) ? examples : 0;
}

}  // namespace capstan::ps
