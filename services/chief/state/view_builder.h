// Makes the views, with a new epoch whenever anything in them has changed. The views name the
// trainers only in a job with an ssp part, whose shards must know for whom the fast trainers wait.
// In other jobs a thousand workers that join make no new view.
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

  // Goes on from `view`, the last one of an earlier chief. Its trainers stay in the quorum until
  // ForgetTrainers: they are at work, though this chief has not heard of them yet. Its moves are
  // cancelled: this chief's first view does not name them. Its pairs stay, but for those that are
  // not sound, which no chief can have made.
  void Inherit(const v1::View& view);
  void ForgetTrainers(const std::string& worker);
  void ForgetTrainers();

  // ---- the map ----

  // Gives the partitions to `shards`, to each about as many.
  void MakeMap(uint32_t partitions, const std::set<uint32_t>& shards);
  void ForgetMap();  // Another map is to be made, in the next timeline.
  // Begins `timeline`. In it no partition moves or has a backup, and each is served as its owner
  // has loaded it.
  void SetTimeline(uint64_t timeline);

  bool has_map() const { return view_.owners_size() > 0; }
  uint32_t coordinator() const { return view_.owners(0); }  // REQUIRES: the map is made.
  // The shards that own partitions.
  const std::set<uint32_t>& owners() const { return owners_; }
  bool Owns(uint32_t shard) const { return owners_.contains(shard); }

  // ---- shards that own nothing ----

  // The shards that the view names: the owners, and those that have joined.
  const std::set<uint32_t>& members() const { return members_; }
  void AddMember(uint32_t shard);
  // REQUIRES: `shard` owns nothing.
  void RemoveMember(uint32_t shard);
  void RemoveAllButOwners();

  // ---- partitions on their way ----

  // Replaces the moves of the view. Each gets, as its id, the epoch of the view that names it
  // first.
  void SetMoves(const std::vector<v1::PartitionMove>& moves);
  void ClearMoves();
  // Ends the moves: their targets become the owners, and serve the copy that the move has brought
  // them or, after a hand-over, the one that they had as the backup. After a hand-over the old
  // owner becomes the backup, if it does not leave and owners_may_stay(); every other partition
  // that has moved has no backup any more. The target of a move that makes a replica becomes the
  // backup. REQUIRES: each partition that is handed over has a backup.
  void CarryOutMoves();
  // Returns whether an owner that has handed a partition over may stay as its backup. Not where a
  // part is ssp: it does not know what trainers have finished at the new owner (docs/spec, rule
  // 39).
  bool owners_may_stay() const { return !names_trainers_; }
  // Whether views name the trainers: a part is ssp.
  bool names_trainers() const { return names_trainers_; }
  // `shard` loads its partitions from a checkpoint: the view no longer says that they came by
  // moves, and none of them has a backup any more.
  void ForgetCopies(uint32_t shard);

  // ---- partitions that have a backup ----

  // Null: the partition has no backup.
  const v1::PartitionPair* PairOf(uint32_t partition) const;
  bool Backs(uint32_t shard) const;
  using PairQuestion = absl::FunctionRef<bool(const v1::PartitionPair&)>;
  // Removes the pairs for which `which` returns true, so that their partitions have no backup any
  // more. Returns how many they were.
  size_t DropPairs(PairQuestion which);
  // Makes the backups the owners of all partitions of the shards `lost`, which are no members any
  // more. REQUIRES: each of these partitions has a backup that is not among `lost`.
  void Promote(const std::set<uint32_t>& lost);

  // Makes the view anew. It names the members, or all known shards while there is no map. Returns
  // true and gives it a new epoch if it differs from the one before.
  bool Update(v1::JobState state, const ShardTable& shards, const Membership& workers);

  const v1::View& current() const { return view_; }
  // Returns the current view with those who train now, in every job: the next chief waits for them.
  v1::View ToStore(const Membership& workers) const;

 private:
  // These call `visit` for each shard or trainer that belongs into the view, in the view's order.
  // They stop and return false when `visit` returns false.
  bool ForEachShard(const ShardTable& shards,
                    absl::FunctionRef<bool(uint32_t, const Shard&)> visit) const;
  static bool ForEachTrainer(const Membership& workers,
                             absl::FunctionRef<bool(const std::string&, const Trainer&)> visit);
  // Return whether the view names just these shards, or trainers, as they are now.
  bool HasShards(const ShardTable& shards) const;
  bool HasTrainers(const Membership& workers) const;
  void NameTrainers(const Membership& workers, v1::View& view) const;
  void CountOwners();
  // Returns the pair in which the owner that hands over by `move` is the backup; nothing if it
  // leaves, or owners may not stay.
  std::optional<v1::PartitionPair> PairAfter(const v1::PartitionMove& move) const;
  void SortPairs();
  void SetCopies(const std::map<uint32_t, v1::ViewEpoch>& copies);
  std::map<uint32_t, v1::ViewEpoch> Copies() const;

  const bool names_trainers_;
  v1::View view_;
  std::set<uint32_t> owners_;
  std::set<uint32_t> members_;
  bool changed_ = false;  // Since the last Update.
  std::vector<v1::TrainerInfo> inherited_;
  // The value of Membership::quorum_changes() for which the view names the trainers; nothing: the
  // view may name others.
  std::optional<uint64_t> named_;
};

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_STATE_VIEW_BUILDER_H_
