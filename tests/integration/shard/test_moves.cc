#include "tests/integration/shard/test_moves.h"

#include <algorithm>
#include <iterator>

#include "absl/functional/function_ref.h"
#include "absl/time/clock.h"

namespace capstan {
namespace {

absl::Status Await(LocalShards& shards, const TestMove& move, bool finish) {
  const absl::Time deadline = absl::Now() + absl::Seconds(60);
  for (;;) {
    const absl::StatusOr<v1::MovePartitionsReply> reply = Ask(shards, move, finish);
    if (!reply.ok() && !absl::IsUnavailable(reply.status())) return reply.status();
    if (reply.ok() && (finish ? reply->done() : reply->copied())) return absl::OkStatus();
    if (absl::Now() > deadline) return absl::DeadlineExceededError("the move takes too long");
    absl::SleepFor(absl::Milliseconds(1));
  }
}

void SetOwner(v1::View& view, uint32_t partition, uint32_t owner, const v1::ViewEpoch& move) {
  view.set_owners(static_cast<int>(partition), owner);
  v1::PartitionCopy* copy = nullptr;
  for (v1::PartitionCopy& known : *view.mutable_copies()) {
    if (known.partition() == partition) copy = &known;
  }
  if (copy == nullptr) copy = view.add_copies();
  copy->set_partition(partition);
  *copy->mutable_move() = move;
}

void ErasePairs(v1::View& view, absl::FunctionRef<bool(const v1::PartitionPair&)> over) {
  v1::View kept;
  for (const v1::PartitionPair& pair : view.pairs()) {
    if (!over(pair)) *kept.add_pairs() = pair;
  }
  view.mutable_pairs()->Swap(kept.mutable_pairs());
}

bool IsOf(const v1::PartitionPair& pair, const TestMove& move) {
  return std::find(move.partitions.begin(), move.partitions.end(), pair.partition()) !=
         move.partitions.end();
}

void PromoteWhere(v1::View& view, absl::FunctionRef<bool(uint32_t partition)> lost) {
  ErasePairs(view, [&view, lost](const v1::PartitionPair& pair) {
    if (!lost(pair.partition())) return false;
    SetOwner(view, pair.partition(), pair.backup(), pair.move());
    return true;
  });
}

// The shard backs up the partitions of the move, by copies of its name, from the view on that is
// published next: the backup takes nothing of a pair before it has followed that view.
void AddPairs(v1::View& view, const TestMove& move, int backup) {
  for (const uint32_t partition : move.partitions) {
    v1::PartitionPair& pair = *view.add_pairs();
    pair.set_partition(partition);
    pair.set_backup(static_cast<uint32_t>(backup));
    pair.set_backup_incarnation(view.shards(backup).incarnation());
    *pair.mutable_move() = move.id;
    *pair.mutable_id() = view.epoch();
    pair.mutable_id()->set_n(view.epoch().n() + 1);
  }
}

// Names the move, and orders it from the view on that is published next.
void AddMoves(v1::View& view, TestMove& move) {
  move.id = view.epoch();
  move.id.set_n(move.id.n() + 1);
  for (const uint32_t partition : move.partitions) {
    v1::PartitionMove& named = *view.add_moves();
    named.set_partition(partition);
    named.set_to(static_cast<uint32_t>(move.to));
    named.set_to_incarnation(view.shards(move.to).incarnation());
    *named.mutable_id() = move.id;
    named.set_replica(move.replica);
    named.set_hand_over(move.hand_over);
  }
}

}  // namespace

void Announce(LocalShards& shards, TestMove& move) {
  shards.Change([&](v1::View& view) { AddMoves(view, move); });
}

void AnnounceTo(const std::vector<int>& hearers, LocalShards& shards, TestMove& move) {
  shards.ChangeFor(hearers, [&](v1::View& view) { AddMoves(view, move); });
}

v1::MovePartitionsRequest OrderOf(const LocalShards& shards, const TestMove& move) {
  v1::MovePartitionsRequest request;
  request.mutable_header()->set_timeline(shards.view().timeline());
  *request.mutable_id() = move.id;
  for (const uint32_t partition : move.partitions) request.add_partitions(partition);
  return request;
}

absl::StatusOr<v1::MovePartitionsReply> Ask(LocalShards& shards, const TestMove& move,
                                            bool finish) {
  v1::MovePartitionsRequest request = OrderOf(shards, move);
  request.set_finish(finish);
  return shards.at(move.from).mover().Order(request);
}

absl::Status AwaitCopies(LocalShards& shards, const TestMove& move) {
  return Await(shards, move, /*finish=*/false);
}

absl::Status AwaitEnd(LocalShards& shards, const TestMove& move) {
  return Await(shards, move, /*finish=*/true);
}

void Switch(v1::View& view, const TestMove& move) {
  view.clear_moves();
  for (const uint32_t partition : move.partitions) {
    SetOwner(view, partition, static_cast<uint32_t>(move.to), move.id);
  }
}

void Pair(v1::View& view, const TestMove& move) {
  view.clear_moves();
  ErasePairs(view, [&move](const v1::PartitionPair& pair) { return IsOf(pair, move); });
  AddPairs(view, move, move.to);
}

void DropBackup(v1::View& view, int shard) {
  ErasePairs(view, [shard](const v1::PartitionPair& pair) {
    return pair.backup() == static_cast<uint32_t>(shard);
  });
}

void Promote(v1::View& view, int shard) {
  PromoteWhere(view, [&view, shard](uint32_t partition) {
    return view.owners(static_cast<int>(partition)) == static_cast<uint32_t>(shard);
  });
}

void KillAndPromote(LocalShards& shards, int shard) {
  shards.Kill(shard);
  shards.Change([shard](v1::View& view) {
    view.clear_moves();
    DropBackup(view, shard);
    Promote(view, shard);
  });
}

void HandOver(v1::View& view, const TestMove& move) {
  view.clear_moves();
  PromoteWhere(view, [&move](uint32_t partition) {
    return std::find(move.partitions.begin(), move.partitions.end(), partition) !=
           move.partitions.end();
  });
}

void HandOverAndStay(v1::View& view, const TestMove& move) {
  HandOver(view, move);
  AddPairs(view, move, move.from);
}

void Cancel(v1::View& view) { view.clear_moves(); }

std::vector<uint32_t> OwnedByShard(const LocalShards& shards, int shard) {
  std::vector<uint32_t> owned;
  for (int i = 0; i < shards.view().owners_size(); ++i) {
    if (shards.view().owners(i) == static_cast<uint32_t>(shard)) {
      owned.push_back(static_cast<uint32_t>(i));
    }
  }
  return owned;
}

absl::Status MoveAll(LocalShards& shards, TestMove move) {
  Announce(shards, move);
  if (absl::Status copied = AwaitCopies(shards, move); !copied.ok()) return copied;
  if (absl::Status ended = AwaitEnd(shards, move); !ended.ok()) return ended;
  shards.Change([&](v1::View& view) { Switch(view, move); });
  return absl::OkStatus();
}

absl::Status PairAll(LocalShards& shards, const std::vector<int>& among) {
  for (const int from : among) {
    const auto place = std::find(among.begin(), among.end(), from);
    TestMove move{.partitions = OwnedByShard(shards, from),
                  .from = from,
                  .to = std::next(place) == among.end() ? among.front() : *std::next(place),
                  .replica = true};
    if (move.partitions.empty()) continue;
    Announce(shards, move);
    if (absl::Status copied = AwaitCopies(shards, move); !copied.ok()) return copied;
    if (absl::Status ended = AwaitEnd(shards, move); !ended.ok()) return ended;
    shards.Change([&](v1::View& view) { Pair(view, move); });
  }
  return absl::OkStatus();
}

}  // namespace capstan
