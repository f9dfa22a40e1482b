#include "ps/shard/push_pieces.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "capstan/base/status.h"
#include "ps/partition/rejection.h"

namespace capstan::ps {
namespace {

// Each push counts as at least this many bytes, so that the entries of many small pushes cannot
// fill the memory.
constexpr size_t kLeastBytes = size_t{1} << 20;

}  // namespace

absl::Status PushPieces::CheckPiece(const v1::PushPieceRequest& piece) const {
  const uint64_t size = piece.size();
  const uint64_t bytes = piece.piece().size();
  const bool inside = piece.offset() < size && bytes <= size - piece.offset();
  if (bytes > 0 && inside && size <= most_bytes_) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("a piece of ", bytes, " bytes from ", piece.offset(), " on of a push of ", size,
                   ": pieces hold something, lie inside of their push, and a push is at most ",
                   most_bytes_, " bytes"));
}

absl::StatusOr<Reservation> PushPieces::RoomFor(const std::string& host, size_t bytes) {
  if (pushes_.empty()) return memory_.ReserveAnyway(MemoryUse::kPushPieces, bytes);
  CAPSTAN_ASSIGN_OR_RETURN(Reservation room, memory_.Reserve(MemoryUse::kPushPieces, bytes));
  size_t of_host = 0;
  for (const auto& [name, push] : pushes_) {
    if (push.host == host) of_host += std::max<size_t>(push.size, kLeastBytes);
  }
  const size_t share = memory_.of(MemoryUse::kPushPieces).limit() / 2;
  if (of_host > 0 && of_host + bytes > share) {
    return NoRoom(absl::StrCat("pushes that come in pieces from ", host, " take ", of_host,
                               " bytes of this shard's memory, which may be ", share));
  }
  return room;
}

std::string PushPieces::Called(const v1::PushPieceRequest& piece, const std::string& host) const {
  const uint64_t trainer = piece.header().trainer();
  if (trainer != 0) return absl::StrCat("push ", piece.push(), " of trainer ", trainer);
  return absl::StrCat("push ", piece.push(), " of the ",
                      nameless_ == Nameless::kOwner ? "owner" : "program", " at ", host);
}

absl::StatusOr<PushPieces::Push*> PushPieces::Find(const Name& name, const std::string& host,
                                                   const v1::PushPieceRequest& piece) {
  if (piece.offset() > 0) {
    const auto found = pushes_.find(name);
    if (found != pushes_.end() && found->second.size != piece.size()) {
      return absl::InvalidArgumentError(
          absl::StrCat("a piece of ", Called(piece, host), " says ", piece.size(),
                       " bytes, and the first one said ", found->second.size));
    }
    if (found != pushes_.end() && found->second.received == piece.offset()) return &found->second;
    pushes_.erase(name);
    return absl::UnavailableError(absl::StrCat("the pieces of ", Called(piece, host),
                                               " before byte ", piece.offset(),
                                               " are not here; it is to be sent anew"));
  }
  pushes_.erase(name);
  const auto& [connection, trainer, push_number] = name;
  pushes_.erase(pushes_.lower_bound({connection, trainer, 0}),
                pushes_.lower_bound({connection, trainer, std::min(piece.oldest(), push_number)}));
  const size_t bytes = std::max<size_t>(piece.size(), kLeastBytes);
  CAPSTAN_ASSIGN_OR_RETURN(Reservation reservation, RoomFor(host, bytes));
  Push& push = pushes_[name];
  push.host = host;
  push.reservation = std::move(reservation);
  push.size = piece.size();
  return &push;
}

absl::StatusOr<std::optional<grpc::ByteBuffer>> PushPieces::Take(const Sender& sender,
                                                                 const v1::PushPieceRequest& piece,
                                                                 absl::Time now) {
  CAPSTAN_RETURN_IF_ERROR(CheckPiece(piece));
  absl::MutexLock lock(&mu_);
  const Name name{sender.connection, piece.header().trainer(), piece.push()};
  CAPSTAN_ASSIGN_OR_RETURN(Push* const push, Find(name, sender.host, piece));
  push->slices.emplace_back(piece.piece());
  push->received += piece.piece().size();
  push->last_piece = now;
  if (push->received < piece.size()) return std::nullopt;
  grpc::ByteBuffer whole(push->slices.data(), push->slices.size());
  pushes_.erase(name);
  return whole;
}

void PushPieces::DropSilent(absl::Time now) {
  absl::MutexLock lock(&mu_);
  std::erase_if(pushes_,
                [now](const auto& push) { return now - push.second.last_piece > kPatience; });
}

}  // namespace capstan::ps
