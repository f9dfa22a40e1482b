// Builds the views, and gives each a new epoch when anything in it has changed. Views name the
// trainers only in a job with an ssp part, whose shards must know which trainers the fast ones wait
// for. In other jobs a new view is not needed when workers join or leave.
#ifndef CAPSTAN_CHIEF_STATE_VIEW_BUILDER_H_
#define CAPSTAN_CHIEF_STATE_VIEW_BUILDER_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "capstan/v1/job.pb.h"
#include "capstan/v1/view.pb.h"
#include "chief/state/membership.h"
#include "chief/state/shard_table.h"

namespace capstan::chief {

// Thread-compatible.
class ViewBuilder {
 public:
  ViewBuilder(uint64_t term, const v1::JobSpec& spec);

  // Continues from `view`, the last one of an earlier chief. Its trainers stay in the quorum until
  // ForgetTrainers: they are at work, though this chief has not heard of them yet. Its moves are
  // cancelled: this chief's first view does not name them. Its pairs are kept, except invalid ones,
  // which no chief can have made.
  void Inherit(const v1::View& view);
  void ForgetTrainers(const std::string& worker);
  void ForgetTrainers();

  // ---- the map ----

  // Makes the partition map: gives each of `shards` about the same number of partitions.
  void MakeMap(uint32_t partitions, const std::set<uint32_t>& shards);
  void ForgetMap();  // Another map is to be made, in the next timeline.
  // Begins `timeline`. In it no partition moves or has a backup yet, and each partition is served
  // by the copy that its owner has loaded.
  void SetTimeline(uint64_t timeline);

  bool has_map() const { return view_.owners_size() > 0; }
  uint32_t coordinator() const { return view_.owners(0); }  // REQUIRES: the map is made.
  // The shards that own partitions.
  const std::set<uint32_t>& owners() const { return owners_; }
  bool Owns(uint32_t shard) const { return owners_.contains(shard); }

  // ---- shards that own nothing ----

  // The shards that the view names: the owners, and those that have joined and own nothing.
  const std::set<uint32_t>& members() const { return members_; }
  void AddMember(uint32_t shard);
  // REQUIRES: `shard` owns nothing.
  void RemoveMember(uint32_t shard);
  void RemoveAllButOwners();

  // ---- partitions that move ----

  // Replaces the moves of the view. The id of each is the epoch of the first view that names it.
  void SetMoves(const std::vector<v1::PartitionMove>& moves);
  void ClearMoves();
  // Ends the moves: their targets become the owners. They serve the copy that the move has brought
  // or, after a hand-over, the one that they had as the backup. After a hand-over the old owner
  // becomes the backup if it does not leave and owners_may_stay(); every other partition that has
  // moved loses its backup. The target of a move that makes a replica becomes the backup.
  // REQUIRES: each partition that is handed over has a backup.
  void CarryOutMoves();
  // Returns true if an owner that has handed a partition over may become its backup. False if a
  // part is ssp: the old owner does not learn the clocks of trainers at the new owner (docs/spec,
  // rule 39).
  bool owners_may_stay() const { return !names_trainers_; }
  // Returns true if views name the trainers, because a part is ssp.
  bool names_trainers() const { return names_trainers_; }
  // `shard` loads its partitions from a checkpoint: the view no longer names the moves by which
  // they came, and none of them has a backup any more.
  void ForgetCopies(uint32_t shard);

  // ---- partitions that have a backup ----

  // Returns null if the partition has no backup.
  const v1::PartitionPair* PairOf(uint32_t partition) const;
  bool Backs(uint32_t shard) const;
  using PairQuestion = absl::FunctionRef<bool(const v1::PartitionPair&)>;
  // Removes the pairs for which `which` returns true, so that their partitions have no backup.
  // Returns the number of removed pairs.
  size_t DropPairs(PairQuestion which);
  // For every partition of the shards `lost`, makes the backup the owner. The shards `lost` are no
  // longer members. REQUIRES: each of these partitions has a backup that is not among `lost`.
  void Promote(const std::set<uint32_t>& lost);

  // Rebuilds the view. It names the members, or all known shards if there is no map yet. If it
  // differs from the current view, gives it a new epoch and returns true.
  bool Update(v1::JobState state, const ShardTable& shards, const Membership& workers);

  const v1::View& current() const { return view_; }
  // Returns the current view with the trainers that train now, which a new chief has to wait for,
  // in jobs of every kind.
  v1::View ToStore(const Membership& workers) const;

 private:
  // These call `visit` for each shard or trainer that the view should name, in the view's order,
  // and stop and return false as soon as `visit` returns false.
  bool ForEachShard(const ShardTable& shards,
                    absl::FunctionRef<bool(uint32_t, const Shard&)> visit) const;
  static bool ForEachTrainer(const Membership& workers,
                             absl::FunctionRef<bool(const std::string&, const Trainer&)> visit);
  // Return true if the view names exactly these shards, or trainers, as they are now.
  bool HasShards(const ShardTable& shards) const;
  bool HasTrainers(const Membership& workers) const;
  void NameTrainers(const Membership& workers, v1::View& view) const;
  void CountOwners();
  // Returns the pair in which the owner that hands over by `move` is the backup; nullopt if it
  // leaves or owners_may_stay() is false.
  std::optional<v1::PartitionPair> PairAfter(const v1::PartitionMove& move) const;
  void SortPairs();
  void SetCopies(const std::map<uint32_t, v1::ViewEpoch>& copies);
  std::map<uint32_t, v1::ViewEpoch> Copies() const;

  const bool names_trainers_;
  v1::View view_;
  std::set<uint32_t> owners_;
  std::set<uint32_t> members_;
  bool changed_ = false;  // The view was changed since the last Update.
  std::vector<v1::TrainerInfo> inherited_;
  // The value of Membership::quorum_changes() at which the view last named the trainers; nullopt:
  // it may name others.
  std::optional<uint64_t> named_;
};

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_STATE_VIEW_BUILDER_H_
