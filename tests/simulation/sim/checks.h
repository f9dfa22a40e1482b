// The rules of a simulated world. Whoever does something tells it here; the first rule that is
// broken stands.
#ifndef CAPSTAN_TESTS_SIMULATION_SIM_CHECKS_H_
#define CAPSTAN_TESTS_SIMULATION_SIM_CHECKS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "capstan/base/ids.h"
#include "capstan/consistency/round_commit.h"
#include "capstan/v1/chief.pb.h"
#include "capstan/v1/ps.pb.h"
#include "capstan/v1/view.pb.h"
#include "tests/simulation/sim/cast.h"
#include "tests/simulation/sim/durable_checks.h"
#include "tests/simulation/sim/reference.h"

namespace capstan::sim {

class Checks {
 public:
  explicit Checks(Cast& cast);

  DurableChecks& durable() { return durable_; }

  const std::string& violation() const { return violation_; }
  // Begun before the job was completed: shards that come later load its model in another one.
  uint64_t timelines() const { return timelines_; }
  uint64_t promotions() const { return promotions_; }
  void OnPromoted() { ++promotions_; }              // Backups have taken a shard's place.
  uint64_t moved() const { return moved_.size(); }  // Partitions, each as often as it has.
  void Violate(const std::string& what);

  // A shard is to load: its timeline begins where that checkpoint ends.
  void OnLoadOrdered(const v1::LoadPartitionsRequest& order);

  // One epoch, one view; timelines never go back.
  void OnView(const v1::View& view);
  // Whoever hears of a view has it as it was published, however it was told.
  void OnHeard(const v1::View& view);
  // No generation is given out twice.
  void OnLease(const v1::Lease& lease);
  void OnLeaseOver(TrainerId trainer, const v1::Generation& generation);

  // OneAtATime: a gradient of a stream is accepted once a copy, none of an older generation than
  // one accepted, and a partition has one owner at a time: who has handed it over accepts nothing.
  struct Server {
    uint32_t shard = 0;
    uint64_t incarnation = 0;
    friend auto operator<=>(const Server&, const Server&) = default;
  };
  struct Place {
    Server server;
    std::map<uint32_t, ViewEpoch> origins;  // Partition -> by what move it has got it.
  };
  void OnPushed(const Place& place, const v1::PushRequest& request, const v1::PushReply& reply);
  // Its sender hears of it. Whose place a backup has taken acknowledges only what that one has.
  void OnAcknowledged(const Place& place, const v1::PushRequest& request,
                      const v1::PushReply& reply);
  // A backup has carried it out.
  void OnReplayed(const v1::PushRequest& push, uint32_t partition);
  // Whose place a backup has taken answers no pull.
  void OnPullAnswered(const Place& place, uint64_t timeline);

  // BoundHolds (ssp), by what the trainers have really finished.
  void OnPullSent(TrainerId trainer, const v1::Generation& generation,
                  const v1::PullRequest& request, const NamedBatch& batch);
  // The trainer is at this step: there are none before it that are not over.
  void OnClockTold(TrainerId trainer, const v1::RequestHeader& header);
  void OnPullServed(uint32_t shard, const v1::View& view, const v1::PullRequest& request);

  // RoundsHold (sync): a round is one set, and a pull reads exactly what the rounds before made.
  void OnRoundCommit(uint64_t timeline, const RoundCommit& set);
  void OnPulled(const v1::Lease& lease, const v1::PullRequest& request, const Cells& pulled);

  // NoDuplicate: no weight of a batch stands for more than one push. `at_end`: every parameter of
  // the job is there, but for those of the partitions `gone`, no batch is missing, and where that
  // is determined all is as if nothing had ever happened.
  void OnCells(const Cells& cells, bool at_end, const std::set<uint32_t>& gone = {});
  // recovery: partial, at the end. LossIsTold: what is missing is not more than was told lost, in
  // batches of parts of partitions; and nothing is if no shard has returned alone.
  void OnEndOfPartial(const Cells& cells, uint64_t told_lost);

 private:
  using StreamSeq = std::pair<uint64_t, uint64_t>;
  struct Copy {  // Of one part of a partition.
    std::map<StreamSeq, int> accepted;
  };
  // A partition as a process holds it: it may have left and come back.
  struct Holder {
    Server server;
    ViewEpoch origin;
    friend auto operator<=>(const Holder&, const Holder&) = default;
  };
  struct PartName {
    uint32_t partition = 0;
    Part part = Part::kDense;
  };
  void OnOutcome(const Holder& holder, const PartName& name, v1::Outcome outcome,
                 const v1::PushRequest& request);
  void CheckOwner(const Holder& holder, uint32_t partition, const v1::PushRequest& request);
  bool IsPromoted(const Holder& holder, uint32_t partition) const;
  // EndExact: there is every parameter, whether it was ever pushed or not, but for those of `gone`.
  void CheckAllRead(const Cells& cells, const std::set<uint32_t>& gone);

  Cast& cast_;
  std::string violation_;
  uint64_t promotions_ = 0;
  std::map<std::pair<uint64_t, uint64_t>, std::string> views_;  // By epoch.
  uint64_t timeline_ = 0;                                       // Of the newest view.
  std::map<Generation, std::string> leases_;
  std::map<std::tuple<Holder, uint64_t, uint32_t, Part>, Copy> copies_;  // And timeline, partition.
  // By stream, and by timeline, partition.
  // With replicas for each copy, for one that nobody hears of may accept what the next one does
  // not.
  std::map<std::tuple<Holder, uint64_t, uint32_t, Part>, std::map<uint64_t, Generation>> fences_;
  std::map<std::pair<uint64_t, uint32_t>, std::vector<Holder>> owners_;  // By timeline, partition.
  std::set<std::tuple<uint64_t, uint64_t, uint32_t>> moved_;  // Term and number of move, partition.

  std::set<std::string> replayed_;                   // Names of shares of pushes.
  std::set<std::pair<uint32_t, ViewEpoch>> paired_;  // Partition, move by which it came.

  // ssp, by trainer: its steps, by what they are, and whether they are over.
  struct TrainerSteps {
    std::map<StreamSeq, uint64_t> step_of;
    std::map<uint64_t, Generation> begun;
    uint64_t told = 0;
    std::map<uint64_t, NamedBatch> batch_of;         // By step.
    std::map<uint64_t, std::set<uint32_t>> settled;  // Partitions, by step.
  };
  bool HasAll(const TrainerSteps& steps, uint64_t step, const v1::PullRequest& pull) const;
  // As far as the pull can tell.
  bool IsOver(const TrainerSteps& steps, uint64_t step, const v1::PullRequest& pull) const;
  std::map<std::pair<uint64_t, uint64_t>, TrainerSteps> trainers_;  // By timeline, trainer.
  std::set<Generation> over_;
  bool partially_recovered_ = false;  // Some shard.
  bool completed_ = false;
  uint64_t timelines_ = 0;
  std::map<uint64_t, Reference> references_;  // By timeline.
  DurableChecks durable_;
};

}  // namespace capstan::sim

#endif  // CAPSTAN_TESTS_SIMULATION_SIM_CHECKS_H_
