// The rules about what is durable: the chief's state, the checkpoints, and what may be done only
// when one of them stands.
#ifndef CAPSTAN_TESTS_SIMULATION_SIM_DURABLE_CHECKS_H_
#define CAPSTAN_TESTS_SIMULATION_SIM_DURABLE_CHECKS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "capstan/v1/checkpoint.pb.h"
#include "capstan/v1/chief_state.pb.h"
#include "capstan/v1/ps.pb.h"
#include "capstan/v1/view.pb.h"
#include "tests/simulation/sim/cast.h"

namespace capstan::sim {

class DurableChecks {
 public:
  using Violate = std::function<void(const std::string& what)>;

  DurableChecks(Cast& cast, Violate violate) : cast_(cast), violate_(std::move(violate)) {}

  uint64_t manifests() const { return manifests_.size(); }
  size_t counted_on() const { return counted_on_.size(); }  // Checkpoints.

  // TermsRise: no chief writes over a later one's state.
  void OnWritten(const std::string& key, const std::string& bytes);

  // The store has damaged this object. What a checkpoint holds of it nobody can count on.
  void OnDamaged(const std::string& key);
  // What its reader needs of the checkpoint, or of those that it builds on, is damaged.
  bool IsDamaged(const std::string& id) const;
  // The job may fail: some checkpoint on which a chief has counted is damaged, and no sound one is
  // left.
  bool MayFail() const;
  // Says of which checkpoints that is so, as a text for people.
  std::string DamageText() const;

  // A chief has claimed the job, and rules until another one does; these are its checkpoints.
  void OnClaim(uint64_t term, const std::vector<std::string>& ids);
  // That chief counts on this checkpoint from now on, or on these no longer. ManifestWhole:
  // whatever such a manifest names stands in the store, and all that it builds on.
  void OnCheckpoint(uint64_t term, const std::string& id);
  void OnDeleteOrdered(const std::vector<std::string>& ids);

  // ViewStands: whoever hears of a timeline, of owners or of an incarnation may count on it.
  void OnView(const v1::View& view) const;
  // NewestIsUsed: nobody goes back behind the last checkpoint. The manifest that the timeline
  // begins with; none: the initial values.
  std::optional<v1::Manifest> OnTimelineBegun(const v1::LoadPartitionsRequest& order);
  // NewestIsUsed, of a shard that recovers partially.
  void OnPartialRecovery(const v1::LoadPartitionsRequest& order);
  // ClosesStand: a stream is closed when the store knows that its task is done.
  void OnStreamsClosed(const v1::CloseStreamsRequest& request) const;

 private:
  bool IsDamaged(const std::string& id, const v1::SavedFile& file) const;
  bool stores() const { return !cast_.job().options().uri.empty(); }
  void OnState(const std::string& bytes);
  void OnManifest(const std::string& bytes);
  void CheckWhole(const std::string& id) const;
  void CheckNewest(const std::optional<v1::Manifest>& base);
  // Empty: everything that the manifest names is there.
  std::string Missing(const std::string& id) const;

  std::set<std::string> deleted_;  // Ids of those that a chief has ordered to be.
  Cast& cast_;
  const Violate violate_;
  uint64_t ruling_term_ = 0;
  v1::ChiefState state_;                           // As it stands in the store.
  std::map<std::string, v1::Manifest> manifests_;  // By id: all that were ever written.
  std::set<std::string> counted_on_;               // Ids.
  // Ids of those on which a chief has ever counted, which also found some when it claimed the job.
  std::set<std::string> relied_on_;
  std::set<std::string> damaged_;  // Objects: <id>/<name>.
};

}  // namespace capstan::sim

#endif  // CAPSTAN_TESTS_SIMULATION_SIM_DURABLE_CHECKS_H_
