// Makes the views: a new epoch whenever anything in them has changed.
#ifndef CAPSTAN_CHIEF_STATE_VIEW_BUILDER_H_
#define CAPSTAN_CHIEF_STATE_VIEW_BUILDER_H_

#include <cstdint>
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
  // ForgetTrainers: they are at work, though they have not been heard of yet.
  void Inherit(const v1::View& view);
  void ForgetTrainers(const std::string& worker);
  void ForgetTrainers() { inherited_.clear(); }

  void MakeMap(uint32_t partitions, uint32_t shards);
  void ForgetMap();  // Another is to be made, with the next timeline.
  void SetTimeline(uint64_t timeline);

  // Builds the view anew, with the shards that the map is over, or all while there is none. True,
  // and a new epoch, if it differs from the current one.
  bool Update(v1::JobState state, const ShardTable& shards, const Membership& workers);

  const v1::View& current() const { return view_; }
  bool has_map() const { return view_.owners_size() > 0; }
  uint32_t shards() const { return shards_; }               // That the map is over, from 0.
  uint32_t coordinator() const { return view_.owners(0); }  // REQUIRES: the map is made.

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

  v1::View view_;
  uint32_t shards_ = 0;
  bool changed_ = false;  // Since the last Update.
  std::vector<v1::TrainerInfo> inherited_;
};

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_STATE_VIEW_BUILDER_H_
