#include "chief/state/view_builder.h"

#include <algorithm>
#include <utility>

#include "capstan/base/check.h"
#include "capstan/consistency/decisions.h"
#include "capstan/placement/placement.h"

namespace capstan::chief {
namespace {

// Returns true if `pair` is the first of its partition, and its backup is a shard that the view
// names and not the partition's owner. `seen` collects the partitions of valid pairs.
bool IsSound(const v1::View& view, const v1::PartitionPair& pair, std::set<uint32_t>& seen) {
  if (pair.partition() >= static_cast<uint32_t>(view.owners_size())) return false;
  if (view.owners(static_cast<int>(pair.partition())) == pair.backup()) return false;
  const auto backs = [&pair](const v1::ShardInfo& shard) { return shard.index() == pair.backup(); };
  if (!std::any_of(view.shards().begin(), view.shards().end(), backs)) return false;
  return pair.has_move() && pair.has_id() && seen.insert(pair.partition()).second;
}

}  // namespace

ViewBuilder::ViewBuilder(uint64_t term, const v1::JobSpec& spec)
    : names_trainers_(IsSsp(spec.dense_update()) || IsSsp(spec.sparse_update())) {
  view_.mutable_epoch()->set_term(term);
  view_.mutable_epoch()->set_n(1);
  view_.set_state(v1::JOB_STATE_PENDING);
}

void ViewBuilder::Inherit(const v1::View& view) {
  view_.set_timeline(view.timeline());
  *view_.mutable_owners() = view.owners();
  *view_.mutable_copies() = view.copies();
  std::set<uint32_t> paired;
  for (const v1::PartitionPair& pair : view.pairs()) {
    if (IsSound(view, pair, paired)) *view_.add_pairs() = pair;
  }
  SortPairs();
  *view_.mutable_shards() = view.shards();
  if (names_trainers_) *view_.mutable_trainers() = view.trainers();
  view_.set_state(view.state());
  CountOwners();
  for (const v1::ShardInfo& shard : view.shards()) members_.insert(shard.index());
  inherited_.assign(view.trainers().begin(), view.trainers().end());
  named_.reset();
  changed_ = changed_ || view.moves_size() > 0 || view_.pairs_size() != view.pairs_size();
}

void ViewBuilder::ForgetTrainers(const std::string& worker) {
  const size_t forgotten = std::erase_if(
      inherited_, [&](const v1::TrainerInfo& trainer) { return trainer.worker() == worker; });
  if (forgotten > 0) named_.reset();
}

void ViewBuilder::ForgetTrainers() {
  if (inherited_.empty()) return;
  inherited_.clear();
  named_.reset();
}

void ViewBuilder::MakeMap(uint32_t partitions, const std::set<uint32_t>& shards) {
  ForgetMap();
  const std::vector<uint32_t> places(shards.begin(), shards.end());
  for (uint32_t place : FirstShardMap(partitions, static_cast<uint32_t>(places.size()))) {
    view_.add_owners(places[place]);
  }
  CountOwners();
}

void ViewBuilder::ForgetMap() {
  changed_ = true;
  view_.clear_owners();
  view_.clear_moves();
  view_.clear_copies();
  view_.clear_pairs();
  members_.clear();
  CountOwners();
}

void ViewBuilder::CountOwners() {
  owners_ = {view_.owners().begin(), view_.owners().end()};
  members_.insert(owners_.begin(), owners_.end());
}

void ViewBuilder::SetTimeline(uint64_t timeline) {
  changed_ = true;
  view_.set_timeline(timeline);
  view_.clear_moves();
  view_.clear_copies();
  view_.clear_pairs();
}

void ViewBuilder::AddMember(uint32_t shard) {
  if (members_.insert(shard).second) changed_ = true;
}

void ViewBuilder::RemoveMember(uint32_t shard) {
  CAPSTAN_CHECK(!Owns(shard));
  if (members_.erase(shard) > 0) changed_ = true;
}

void ViewBuilder::RemoveAllButOwners() {
  if (members_ == owners_) return;
  members_ = owners_;
  changed_ = true;
}

void ViewBuilder::SetMoves(const std::vector<v1::PartitionMove>& moves) {
  changed_ = true;
  view_.mutable_moves()->Assign(moves.begin(), moves.end());
  for (v1::PartitionMove& move : *view_.mutable_moves()) move.clear_id();
}

void ViewBuilder::ClearMoves() {
  if (view_.moves().empty()) return;
  changed_ = true;
  view_.clear_moves();
}

void ViewBuilder::CarryOutMoves() {
  changed_ = true;
  std::map<uint32_t, v1::ViewEpoch> copies = Copies();
  std::set<uint32_t> moved;
  std::vector<v1::PartitionPair> made;
  for (const v1::PartitionMove& move : view_.moves()) {
    moved.insert(move.partition());
    if (move.replica()) {
      v1::PartitionPair& pair = made.emplace_back();
      pair.set_partition(move.partition());
      pair.set_backup(move.to());
      pair.set_backup_incarnation(move.to_incarnation());
      *pair.mutable_move() = move.id();
      continue;
    }
    const v1::PartitionPair* const pair = move.hand_over() ? PairOf(move.partition()) : nullptr;
    CAPSTAN_CHECK(pair != nullptr || !move.hand_over());
    if (pair != nullptr) {
      if (std::optional<v1::PartitionPair> after = PairAfter(move)) {
        made.push_back(*std::move(after));
      }
    }
    view_.set_owners(static_cast<int>(move.partition()), move.to());
    copies[move.partition()] = pair != nullptr ? pair->move() : move.id();
  }
  view_.clear_moves();
  SetCopies(copies);
  DropPairs([&moved](const v1::PartitionPair& pair) { return moved.contains(pair.partition()); });
  for (v1::PartitionPair& pair : made) *view_.add_pairs() = std::move(pair);
  SortPairs();
  CountOwners();
}

std::optional<v1::PartitionPair> ViewBuilder::PairAfter(const v1::PartitionMove& move) const {
  if (!owners_may_stay()) return std::nullopt;
  const uint32_t owner = view_.owners(static_cast<int>(move.partition()));
  const auto stays = [owner](const v1::ShardInfo& shard) {
    return shard.index() == owner && !shard.draining();
  };
  const auto shard = std::find_if(view_.shards().begin(), view_.shards().end(), stays);
  if (shard == view_.shards().end()) return std::nullopt;
  v1::PartitionPair pair;
  pair.set_partition(move.partition());
  pair.set_backup(owner);
  pair.set_backup_incarnation(shard->incarnation());
  *pair.mutable_move() = move.id();  // The old owner identifies its copy by this id from now on.
  return pair;
}

void ViewBuilder::SortPairs() {
  std::sort(view_.mutable_pairs()->begin(), view_.mutable_pairs()->end(),
            [](const auto& a, const auto& b) { return a.partition() < b.partition(); });
}

std::map<uint32_t, v1::ViewEpoch> ViewBuilder::Copies() const {
  std::map<uint32_t, v1::ViewEpoch> copies;
  for (const v1::PartitionCopy& copy : view_.copies()) copies[copy.partition()] = copy.move();
  return copies;
}

void ViewBuilder::SetCopies(const std::map<uint32_t, v1::ViewEpoch>& copies) {
  view_.clear_copies();
  for (const auto& [partition, move] : copies) {
    v1::PartitionCopy& copy = *view_.add_copies();
    copy.set_partition(partition);
    *copy.mutable_move() = move;
  }
}

const v1::PartitionPair* ViewBuilder::PairOf(uint32_t partition) const {
  const auto found = std::lower_bound(
      view_.pairs().begin(), view_.pairs().end(), partition,
      [](const v1::PartitionPair& pair, uint32_t sought) { return pair.partition() < sought; });
  return found == view_.pairs().end() || found->partition() != partition ? nullptr : &*found;
}

bool ViewBuilder::Backs(uint32_t shard) const {
  return std::any_of(view_.pairs().begin(), view_.pairs().end(),
                     [shard](const v1::PartitionPair& pair) { return pair.backup() == shard; });
}

size_t ViewBuilder::DropPairs(PairQuestion which) {
  auto& pairs = *view_.mutable_pairs();
  const auto kept = std::remove_if(pairs.begin(), pairs.end(), which);
  const auto dropped = static_cast<size_t>(pairs.end() - kept);
  if (dropped == 0) return 0;
  changed_ = true;
  pairs.erase(kept, pairs.end());
  return dropped;
}

void ViewBuilder::Promote(const std::set<uint32_t>& lost) {
  changed_ = true;
  std::map<uint32_t, v1::ViewEpoch> copies = Copies();
  DropPairs([&](const v1::PartitionPair& pair) {
    if (!lost.contains(view_.owners(static_cast<int>(pair.partition())))) return false;
    view_.set_owners(static_cast<int>(pair.partition()), pair.backup());
    copies[pair.partition()] = pair.move();
    return true;
  });
  SetCopies(copies);
  CountOwners();
  for (uint32_t shard : lost) RemoveMember(shard);
}

void ViewBuilder::ForgetCopies(uint32_t shard) {
  const auto of_shard = [&](const v1::PartitionCopy& copy) {
    return view_.owners(static_cast<int>(copy.partition())) == shard;
  };
  auto& copies = *view_.mutable_copies();
  const auto kept = std::remove_if(copies.begin(), copies.end(), of_shard);
  DropPairs([&](const v1::PartitionPair& pair) {
    return view_.owners(static_cast<int>(pair.partition())) == shard;
  });
  if (kept == copies.end()) return;
  changed_ = true;
  copies.erase(kept, copies.end());
}

bool ViewBuilder::Update(v1::JobState state, const ShardTable& shards, const Membership& workers) {
  // This is called at every heartbeat, mostly without a change, so that case has to be cheap.
  const bool same =
      !changed_ && view_.state() == state && HasShards(shards) &&
      (!names_trainers_ || named_ == workers.quorum_changes() || HasTrainers(workers));
  named_ = workers.quorum_changes();
  if (same) return false;
  changed_ = false;
  view_.set_state(state);
  view_.clear_shards();
  ForEachShard(shards, [this](uint32_t index, const Shard& shard) {
    v1::ShardInfo& info = *view_.add_shards();
    info.set_index(index);
    info.set_address(shard.address);
    info.set_incarnation(Raw(shard.incarnation));
    info.set_draining(shard.draining);
    info.set_shows_secret(shard.shows_secret);
    return true;
  });
  if (names_trainers_) NameTrainers(workers, view_);
  view_.mutable_epoch()->set_n(view_.epoch().n() + 1);
  for (v1::PartitionMove& move : *view_.mutable_moves()) {
    if (!move.has_id()) *move.mutable_id() = view_.epoch();
  }
  for (v1::PartitionPair& pair : *view_.mutable_pairs()) {
    if (!pair.has_id()) *pair.mutable_id() = view_.epoch();
  }
  return true;
}

v1::View ViewBuilder::ToStore(const Membership& workers) const {
  v1::View view = view_;
  NameTrainers(workers, view);
  return view;
}

void ViewBuilder::NameTrainers(const Membership& workers, v1::View& view) const {
  view.mutable_trainers()->Assign(inherited_.begin(), inherited_.end());
  ForEachTrainer(workers, [&view](const std::string& worker, const Trainer& trainer) {
    v1::TrainerInfo& info = *view.add_trainers();
    info.set_trainer(Raw(trainer.id));
    info.set_worker(worker);
    info.set_start_clock(trainer.start_clock);
    return true;
  });
}

bool ViewBuilder::ForEachShard(const ShardTable& shards,
                               absl::FunctionRef<bool(uint32_t, const Shard&)> visit) const {
  for (const auto& [index, shard] : shards.shards()) {
    if (has_map() && !members_.contains(index)) continue;
    if (!visit(index, shard)) return false;
  }
  return true;
}

bool ViewBuilder::ForEachTrainer(
    const Membership& workers, absl::FunctionRef<bool(const std::string&, const Trainer&)> visit) {
  for (const auto& [name, worker] : workers.live()) {
    for (const Trainer& trainer : worker.trainers) {
      if (trainer.training && !visit(name, trainer)) return false;
    }
  }
  return true;
}

bool ViewBuilder::HasShards(const ShardTable& shards) const {
  int next = 0;
  const bool same = ForEachShard(shards, [&](uint32_t index, const Shard& shard) {
    if (next == view_.shards_size()) return false;
    const v1::ShardInfo& info = view_.shards(next++);
    return info.index() == index && info.incarnation() == Raw(shard.incarnation) &&
           info.address() == shard.address && info.draining() == shard.draining &&
           info.shows_secret() == shard.shows_secret;
  });
  return same && next == view_.shards_size();
}

bool ViewBuilder::HasTrainers(const Membership& workers) const {
  int next = 0;
  const auto is_next = [&](uint64_t id, uint64_t start_clock, const std::string& worker) {
    if (next == view_.trainers_size()) return false;
    const v1::TrainerInfo& info = view_.trainers(next++);
    return info.trainer() == id && info.start_clock() == start_clock && info.worker() == worker;
  };
  for (const v1::TrainerInfo& trainer : inherited_) {
    if (!is_next(trainer.trainer(), trainer.start_clock(), trainer.worker())) return false;
  }
  const bool same = ForEachTrainer(workers, [&](const std::string& worker, const Trainer& trainer) {
    return is_next(Raw(trainer.id), trainer.start_clock, worker);
  });
  return same && next == view_.trainers_size();
}

}  // namespace capstan::chief
