#include "ps/shard/seal_check.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "capstan/base/ids.h"
#include "capstan/base/status.h"
#include "capstan/consistency/generation.h"
#include "ps/partition/rejection.h"

namespace capstan::ps {
namespace {

std::string NameOf(const v1::RequestHeader& header, const v1::Generation& generation) {
  return absl::StrCat("generation ", generation.term(), ".", generation.count(), " of trainer ",
                      header.trainer());
}

// A session belongs to its client, which needs no lease for it; the ledger limits their number.
bool IsOfLease(const v1::StreamPush& stream) { return !StreamId{stream.stream()}.is_session(); }

}  // namespace

// A caller that presents a wrong seal may lie, and one that presents no seal may run an earlier
// version; but this shard may also not know the present chief's key yet. So the caller has to
// retry, which does not count as a failure of its task, and the shard asks for the key with its
// next heartbeat.
absl::Status SealCheck::Refuse(uint64_t shown, const std::string& what) const {
  if (shown != 0) in_doubt_.store(true, std::memory_order_relaxed);
  return WithReason(absl::UnavailableError(absl::StrCat(
                        what, ": ", shown == 0 ? "it bears no seal" : "its seal is wrong",
                        "; what the chief and the coordinator say is given back seal and all")),
                    Rejection::kSeal);
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

absl::Status SealCheck::CheckLane(const v1::RequestHeader& header, uint32_t lane,
                                  const v1::Generation& generation) const {
  if (lane >= lanes_) {
    return absl::InvalidArgumentError(absl::StrCat("lane ", lane, ": the job has ", lanes_));
  }
  const std::shared_ptr<const Sealer> sealer = this->sealer();
  const uint64_t made = sealer->OfLane(header.timeline(), TrainerId{header.trainer()}, lane,
                                       GenerationFromProto(generation));
  if (sealer->IsRight(generation.seal(), made)) return absl::OkStatus();
  return Refuse(generation.seal(), absl::StrCat("lane ", lane, ", ", NameOf(header, generation)));
}

absl::Status SealCheck::CheckStream(const v1::RequestHeader& header,
                                    const v1::StreamPush& stream) const {
  const StreamId id{stream.stream()};
  const std::shared_ptr<const Sealer> sealer = this->sealer();
  const v1::Generation& generation = stream.generation();
  const uint64_t made = sealer->OfTask(header.timeline(), TrainerId{header.trainer()}, id,
                                       GenerationFromProto(generation));
  if (sealer->IsRight(generation.seal(), made)) return absl::OkStatus();
  return Refuse(generation.seal(),
                absl::StrCat("stream ", id.value, ", ", NameOf(header, generation)));
}

absl::Status SealCheck::CheckPush(const v1::PushRequest& head) const {
  const bool streams = head.has_stream() && IsOfLease(head.stream());
  if (!head.has_stage()) {
    return streams ? CheckStream(head.header(), head.stream()) : CheckTellsNoClock(head.header());
  }
  const v1::Generation& generation = head.stage().generation();
  CAPSTAN_RETURN_IF_ERROR(CheckLane(head.header(), head.stage().lane(), generation));
  // A lane runner pushes gradients of a part that is not synchronous under the lease of its lane.
  const bool one_lease = !streams || GenerationFromProto(head.stream().generation()) ==
                                         GenerationFromProto(generation);
  return one_lease ? absl::OkStatus() : CheckStream(head.header(), head.stream());
}

// A clock without a lease could be that of any trainer.
absl::Status SealCheck::CheckTellsNoClock(const v1::RequestHeader& header) const {
  if (header.trainer() == 0 || header.clock() == 0 || sealer()->key().empty()) {
    return absl::OkStatus();
  }
  return Refuse(/*shown=*/0,
                absl::StrCat("the clock of trainer ", header.trainer(), ", told under no lease"));
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
