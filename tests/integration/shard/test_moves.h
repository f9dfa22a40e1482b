// What the chief does about moves, by hand: views, orders, and the wait for what they bring about.
#ifndef CAPSTAN_TESTS_INTEGRATION_SHARD_TEST_MOVES_H_
#define CAPSTAN_TESTS_INTEGRATION_SHARD_TEST_MOVES_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "capstan/v1/ps.pb.h"
#include "tests/integration/shard/local_shard.h"

namespace capstan {

// Some partitions on their way from one shard to another.
struct TestMove {
  std::vector<uint32_t> partitions;
  int from = 0;
  int to = 1;
  v1::ViewEpoch id = {};
  bool replica = false;    // The target is to become the backup.
  bool hand_over = false;  // The target is the backup, and is to become the owner.
};

// Those of SmallJob.
inline std::vector<uint32_t> AllPartitions() { return {0, 1, 2, 3, 4, 5, 6, 7}; }

// Those of the first of two shards.
inline std::vector<uint32_t> FirstHalf() { return {0, 2, 4, 6}; }

// Those that the shard owns by the newest view.
std::vector<uint32_t> OwnedByShard(const LocalShards& shards, int shard);

// Publishes a view that orders the move.
void Announce(LocalShards& shards, TestMove& move);
// The same, where only these shards hear of it.
void AnnounceTo(const std::vector<int>& hearers, LocalShards& shards, TestMove& move);
// What the source is asked.
v1::MovePartitionsRequest OrderOf(const LocalShards& shards, const TestMove& move);
// Asks the source once.
absl::StatusOr<v1::MovePartitionsReply> Ask(LocalShards& shards, const TestMove& move, bool finish);
// Asks until the copies are with the target, or all is.
absl::Status AwaitCopies(LocalShards& shards, const TestMove& move);
absl::Status AwaitEnd(LocalShards& shards, const TestMove& move);
// Changes the view so that the target owns what has moved, or that the move is over.
void Switch(v1::View& view, const TestMove& move);
void Cancel(v1::View& view);
// Changes the view so that the target backs up what has come to it, in the place of who did.
void Pair(v1::View& view, const TestMove& move);
// Changes the view so that nobody backs up what this shard did, or that backups are the owners of
// what it owned.
void DropBackup(v1::View& view, int shard);
void Promote(v1::View& view, int shard);
// Ends the shard; its backups own what it owned, and it backs nothing up any more.
void KillAndPromote(LocalShards& shards, int shard);
// Changes the view so that the backups own what they are being handed over.
void HandOver(v1::View& view, const TestMove& move);
// The same, and who hands over is the backup from then on.
void HandOverAndStay(v1::View& view, const TestMove& move);
// All of it.
absl::Status MoveAll(LocalShards& shards, TestMove move);
// Pairs every partition with the next shard after its owner, of those that are named.
absl::Status PairAll(LocalShards& shards, const std::vector<int>& among);

}  // namespace capstan

#endif  // CAPSTAN_TESTS_INTEGRATION_SHARD_TEST_MOVES_H_
