// Makes the views: a new epoch whenever anything in them has changed. Those who train are named in
// the views of a job with an ssp part, whose shards need to know for whom the fast have to wait;
// in others nobody needs them, and a thousand workers that join make no view.
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

  // Goes on from the last view of an earlier chief. Its trainers stay in the quorum until
  // ForgetTrainers: they are at work, though they have not been heard of yet. The moves that it had
  // under way are cancelled: this chief's first view does not name them. Its pairs stay, but for
  // those that no chief has made.
  void Inherit(const v1::View& view);
  void ForgetTrainers(const std::string& worker);
  void ForgetTrainers();

  // ---- the map ----

  // Over these shards, in turn.
  void MakeMap(uint32_t partitions, const std::set<uint32_t>& shards);
  void ForgetMap();  // Another is to be made, with the next timeline.
  // No partition is on its way in it or has a backup, and each is served as it was loaded.
  void SetTimeline(uint64_t timeline);

  bool has_map() const { return view_.owners_size() > 0; }
  uint32_t coordinator() const { return view_.owners(0); }  // REQUIRES: the map is made.
  // Those that own partitions.
  const std::set<uint32_t>& owners() const { return owners_; }
  bool Owns(uint32_t shard) const { return owners_.contains(shard); }

  // ---- shards that own nothing ----

  // Those whom the view names: the owners, and who has joined.
  const std::set<uint32_t>& members() const { return members_; }
  void AddMember(uint32_t shard);
  // REQUIRES: it owns nothing.
  void RemoveMember(uint32_t shard);
  void RemoveAllButOwners();

  // ---- partitions on their way ----

  // Replaces the moves; each gets the epoch of the view that names it first as its id.
  void SetMoves(const std::vector<v1::PartitionMove>& moves);
  void ClearMoves();
  // The targets of the moves are the owners, each by the copy that its move has brought it, or by
  // that which it has as the backup. Who hands over and does not leave is the backup of what it has
  // handed over, if owners may stay; what is taken else has no backup any more. The targets of
  // moves that make replicas are the backups. REQUIRES: what is handed over has its backup.
  void CarryOutMoves();
  // Whether who hands over may stay as the backup: not where a part is ssp, for it does not know
  // what trainers have finished at the new owner (docs/spec, rule 39).
  bool owners_may_stay() const { return !names_trainers_; }
  // The shard's partitions are not those that came to it by moves: it loads them. None of them has
  // a backup any more.
  void ForgetCopies(uint32_t shard);

  // ---- partitions that have a backup ----

  // Null: the partition has none.
  const v1::PartitionPair* PairOf(uint32_t partition) const;
  bool Backs(uint32_t shard) const;
  using PairQuestion = absl::FunctionRef<bool(const v1::PartitionPair&)>;
  // These partitions have no backup any more. Returns how many they are.
  size_t DropPairs(PairQuestion which);
  // The backups are the owners of all that these shards own, and the shards are no members any
  // more. REQUIRES: each partition of theirs has a backup that is none of them.
  void Promote(const std::set<uint32_t>& lost);

  // Builds the view anew, with the members, or all shards while there is no map. True, and a new
  // epoch, if it differs from the current one.
  bool Update(v1::JobState state, const ShardTable& shards, const Membership& workers);

  const v1::View& current() const { return view_; }
  // The same with those who train now, whom the next chief waits for, whatever the policy.
  v1::View ToStore(const Membership& workers) const;

 private:
  // These call visit(...) for what belongs into the view, in its order, until one says false; then
  // that is the result.
  bool ForEachShard(const ShardTable& shards,
                    absl::FunctionRef<bool(uint32_t, const Shard&)> visit) const;
  static bool ForEachTrainer(const Membership& workers,
                             absl::FunctionRef<bool(const std::string&, const Trainer&)> visit);
  // Whether these are the view's.
  bool HasShards(const ShardTable& shards) const;
  bool HasTrainers(const Membership& workers) const;
  void NameTrainers(const Membership& workers, v1::View& view) const;
  void CountOwners();
  // The pair of who hands over by the move and stays; nothing: it leaves.
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
  // Membership::quorum_changes() as of which the view names who trains; nothing: it may name
  // others.
  std::optional<uint64_t> named_;
};

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_STATE_VIEW_BUILDER_H_
