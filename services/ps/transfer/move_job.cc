#include "ps/transfer/move_job.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "capstan/base/crc32c.h"
#include "capstan/base/failpoint.h"
#include "capstan/base/status.h"
#include "capstan/base/trace.h"
#include "capstan/base/wire_version.h"
#include "capstan/checkpoint/partition_encoder.h"
#include "capstan/placement/view_epoch.h"
#include "ps/partition/machine_state.h"
#include "ps/partition/read_copy.h"
#include "ps/shard/coordinator_start.h"
#include "ps/transfer/move_file.h"

namespace capstan::ps {
namespace {

constexpr absl::Duration kPause = absl::Milliseconds(5);
// For the rest, while the partition is frozen.
constexpr absl::Duration kRestPause = absl::Milliseconds(1);
constexpr absl::Duration kBackupPause = absl::Milliseconds(1);
constexpr absl::Duration kLongestPause = absl::Milliseconds(200);
// How long a wait sleeps before it checks again whether the move has ended.
constexpr absl::Duration kWaitTurn = absl::Milliseconds(20);

// Returns true if the target may answer differently later. FAILED_PRECONDITION is such an answer:
// the target's view does not name the move yet.
bool MayChange(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status) ||
         absl::IsResourceExhausted(status) || absl::IsFailedPrecondition(status);
}

}  // namespace

MoveJob::MoveJob(Shard& shard, const Means& means, const Order& order)
    : shard_(shard),
      means_(means),
      order_(order),
      partition_(shard.partitions()[order.partition]),
      bytes_expected_(order.move.hand_over ? 0 : partition_.facts().bytes) {}

bool MoveJob::IsOver() const {
  if (cancelled_ || shard_.timeline() != order_.timeline) return true;
  const std::optional<OutgoingMove> named = shard_.view().newest()->Outgoing(order_.partition);
  return !named || named->id != order_.move.id;
}

absl::Status MoveJob::Check() const {
  return IsOver() ? absl::CancelledError("the move is over") : absl::OkStatus();
}

absl::Status MoveJob::SendCopy(MovePeer& peer) {
  if (order_.move.hand_over) return Check();
  shard_.accounts().LimitKept();
  absl::StatusOr<File> file = Read(Kind::kCopy);
  if (!file.ok()) return Settle(file.status());
  last_bytes_ = file->bytes.size();
  bytes_expected_ = last_bytes_;
  CAPSTAN_FAILPOINT("move.copy_read");
  absl::Status sent = SendFile(*file, peer);
  if (sent.ok()) sent = CAPSTAN_FAILPOINT_STATUS("move.copied");
  return Settle(std::move(sent));
}

absl::StatusOr<bool> MoveJob::SendChanges(MovePeer& peer) {
  CAPSTAN_RETURN_IF_ERROR(Check());
  if (order_.move.hand_over) return true;
  absl::StatusOr<File> file = Read(Kind::kChanges);
  if (!file.ok()) return Settle(file.status());
  const size_t bytes = file->bytes.size();
  bytes_expected_ += bytes;
  absl::Status sent = CAPSTAN_FAILPOINT_STATUS("move.delta");
  if (sent.ok()) sent = SendFile(*file, peer);
  CAPSTAN_RETURN_IF_ERROR(Settle(std::move(sent)));
  const bool little = bytes <= kFewBytes || bytes > last_bytes_ / 2;
  last_bytes_ = bytes;
  return little;
}

absl::Status MoveJob::Settle(absl::Status status) {
  const std::string name = status.ok() ? MoveFileName(order_.move.id, files_) : "";
  partition_.SettleCopy(name, shard_.clock().Now());
  if (status.ok()) ++files_;
  return status;
}

absl::Status MoveJob::Freeze() {
  const absl::Time now = shard_.clock().Now();
  CAPSTAN_RETURN_IF_ERROR(partition_.FreezeForMove(Timeline{order_.timeline}, order_.move.id, now));
  if (Raw(order_.partition) == 0) {
    absl::StatusOr<std::optional<CoordinatorState>> coordinator = shard_.coordinator().Silence();
    if (!coordinator.ok()) partition_.ThawUnless(std::nullopt, now);
    CAPSTAN_RETURN_IF_ERROR(coordinator.status());
    coordinator_ = *std::move(coordinator);
  }
  told_ = partition_.Told();
  if (!order_.move.hand_over) Trace("frozen");
  return absl::OkStatus();
}

void MoveJob::Thaw() {
  partition_.ThawUnless(std::nullopt, shard_.clock().Now());
  if (Raw(order_.partition) == 0) shard_.coordinator().Resume();
}

void MoveJob::Trace(std::string_view event) const {
  trace::Write(event, {{"partition", Raw(order_.partition)},
                       {"term", order_.move.id.term},
                       {"n", order_.move.id.n}});
}

// The partition accepts nothing any more, so the backup is sent nothing after told_.
absl::Status MoveJob::AwaitBackup() const {
  const absl::Time deadline = shard_.clock().Now() + kPatience;
  for (;;) {
    CAPSTAN_RETURN_IF_ERROR(Check());
    CAPSTAN_FAILPOINT("move.backup_awaited");
    CAPSTAN_ASSIGN_OR_RETURN(const bool has_all, partition_.BackupHasAll(told_));
    if (has_all) {
      Trace("stands still");
      return absl::OkStatus();
    }
    const absl::Time now = shard_.clock().Now();
    if (now >= deadline) return absl::DeadlineExceededError("the backup does not get ready");
    CAPSTAN_RETURN_IF_ERROR(WaitUntil(now + kBackupPause));
  }
}

absl::Status MoveJob::SendRest(MovePeer& peer) {
  if (order_.move.hand_over) return AwaitBackup();
  absl::StatusOr<File> file = Read(Kind::kRest);
  partition_.SettleCopy("", shard_.clock().Now());
  CAPSTAN_RETURN_IF_ERROR(file.status());
  Trace("copied");  // The partition stands still, so this is all of it.
  bytes_expected_ += file->bytes.size();
  CAPSTAN_FAILPOINT("move.rest_read");
  CAPSTAN_RETURN_IF_ERROR(SendFile(*file, peer));
  return CAPSTAN_FAILPOINT_STATUS("move.rest_sent");
}

absl::StatusOr<MoveJob::File> MoveJob::Read(Kind kind) {
  const absl::Status gone = absl::FailedPreconditionError(absl::StrCat(
      "partition ", Raw(order_.partition), " is not here any more, in timeline ", order_.timeline));
  const std::string parent = kind == Kind::kCopy ? "" : MoveFileName(order_.move.id, files_ - 1);
  const std::optional<PartitionCopy> copy =
      partition_.BeginCopy({.timeline = Timeline{order_.timeline},
                            .parent = parent,
                            .move = kind == Kind::kRest ? ViewEpoch{} : order_.move.id},
                           shard_.clock().Now());
  if (!copy) return gone;
  CAPSTAN_FAILPOINT("move.copy_begun");
  PartitionEncoder encoder({.partition_count = shard_.catalog().job().partition_count(),
                            .timeline = order_.timeline,
                            .machine = EncodeMachineState(copy->state),
                            .parent = copy->parent,
                            .moved = true});
  File file{.kind = kind, .number = files_, .bytes = {}, .state = copy->state};
  const auto check = [this] { return Check(); };
  CAPSTAN_ASSIGN_OR_RETURN(const bool all,
                           ReadCopy(partition_, encoder, check, [&file](std::string piece) {
                             file.bytes += piece;
                             return absl::OkStatus();
                           }));
  if (!all) return gone;
  partition_.EndCopy(shard_.clock().Now());
  file.bytes += std::move(encoder).TakeRest();
  return file;
}

v1::TakePartitionRequest MoveJob::Piece(const File& file, size_t offset) const {
  v1::TakePartitionRequest piece;
  v1::RequestHeader& header = *piece.mutable_header();
  header.set_wire_version(kWireVersion);
  header.set_timeline(order_.timeline);
  header.set_target_incarnation(Raw(order_.move.incarnation));
  ToProto(shard_.view().newest()->epoch(), *header.mutable_epoch());
  piece.set_partition(static_cast<uint32_t>(Raw(order_.partition)));
  ToProto(order_.move.id, *piece.mutable_move());
  piece.set_file(file.number);
  piece.set_rest(file.kind == Kind::kRest);
  piece.set_offset(offset);
  piece.set_piece(file.bytes.substr(offset, means_.piece_bytes));
  return piece;
}

absl::Status MoveJob::SendFile(const File& file, MovePeer& peer) {
  const bool rest = file.kind == Kind::kRest;
  for (size_t offset = 0;;) {
    v1::TakePartitionRequest piece = Piece(file, offset);
    const size_t size = piece.piece().size();
    const absl::Time turn = means_.pacer.Book(size, shard_.clock().Now());
    // The rest is not paced, because pushes wait for it.
    if (!rest) CAPSTAN_RETURN_IF_ERROR(WaitUntil(turn));
    offset += size;
    const bool last = offset == file.bytes.size();
    if (last) {
      piece.set_last(true);
      piece.set_crc32c(Crc32c(file.bytes));
      if (rest) AddState(file.state, piece);
    }
    // The sender does not wait until a copy is decoded: it sends other copies meanwhile.
    const bool applied = last && file.kind != Kind::kCopy;
    CAPSTAN_RETURN_IF_ERROR(SendPiece(std::move(piece), applied, peer));
    bytes_ += size;
    shard_.metrics().CountMoved(size);
    CAPSTAN_RETURN_IF_ERROR(CAPSTAN_FAILPOINT_STATUS("move.piece_sent"));
    if (last) return absl::OkStatus();
  }
}

absl::Status MoveJob::SendPiece(v1::TakePartitionRequest piece, bool applied, MovePeer& peer) {
  const absl::Time deadline = shard_.clock().Now() + kPatience;
  const absl::Duration first = piece.rest() ? kRestPause : kPause;
  for (absl::Duration pause = first;; pause = std::min(2 * pause, kLongestPause)) {
    CAPSTAN_RETURN_IF_ERROR(Check());
    const absl::StatusOr<v1::TakePartitionReply> reply =
        peer.Take(piece, [this] { return IsOver(); });
    if (reply.ok() && (!applied || reply->complete())) return absl::OkStatus();
    if (!reply.ok() && !MayChange(reply.status())) return reply.status();
    const absl::Time now = shard_.clock().Now();
    if (now >= deadline) {
      return reply.ok() ? absl::DeadlineExceededError("the target does not get ready")
                        : reply.status();
    }
    // The target has the bytes: from now on it is only asked whether it has decoded them.
    if (reply.ok()) {
      piece.set_offset(piece.offset() + piece.piece().size());
      piece.clear_piece();
    }
    CAPSTAN_RETURN_IF_ERROR(WaitUntil(now + pause));
  }
}

void MoveJob::AddState(const PartitionState& state, v1::TakePartitionRequest& last) const {
  for (const FinishedClock& clock : shard_.clocks().Finished()) {
    v1::TrainerClock& proto = *last.add_clocks();
    proto.set_trainer(Raw(clock.trainer));
    proto.set_clock(clock.clock);
  }
  if (!shard_.catalog().HasSync()) return;
  ToProto(shard_.rounds().Passed(state.round), *last.mutable_passed());
  if (coordinator_) ToProto(*coordinator_, *last.mutable_coordinator());
}

absl::Status MoveJob::WaitUntil(absl::Time until) const {
  for (;;) {
    const absl::Duration left = until - shard_.clock().Now();
    if (left <= absl::ZeroDuration()) return absl::OkStatus();
    CAPSTAN_RETURN_IF_ERROR(Check());
    means_.background.SleepFor(std::min(left, kWaitTurn));
  }
}

}  // namespace capstan::ps
