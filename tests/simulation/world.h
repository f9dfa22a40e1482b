// A small world of the real machines: runners on one side; partitions, closed logs, clocks and the
// coordinator on the other; between them a network that loses, repeats and reorders messages; and a
// small model of the chief, which grants leases. A world is a value: the explorer copies it before
// every step. ChiefWorld puts the real chief in the place of the model.
#ifndef CAPSTAN_TESTS_SIMULATION_WORLD_H_
#define CAPSTAN_TESTS_SIMULATION_WORLD_H_

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "capstan/v1/job.pb.h"
#include "ps/machines/clock_machine.h"
#include "ps/machines/closed_log.h"
#include "ps/machines/coordinator_machine.h"
#include "ps/machines/partition_machine.h"
#include "tests/simulation/runner_lease.h"
#include "tests/simulation/shared_vector.h"
#include "worker/machines/runner_machine.h"

namespace capstan::simulation {

// How the network deceives the machines. Each lie has the effect of a machine that lacks one of its
// rules, and the checks must find it.
enum class Lie {
  kNone,
  // The coordinator is told the newest generation whatever generation a runner has.
  kNoCoordinatorFence,
  kNoLaneFence,       // Each shard is told the newest generation in stages.
  kReusedGeneration,  // A lane is leased again under the same generation.
  kNoRoundCheck,      // A pull is served whatever round it asks for.
  kEmptyLanesCount,   // A lane without data left goes on reporting.
  kSkipLate,          // A lane's batch is the round's number, not its cursor.
  kNoCommit,          // No request carries the last round commit.
  kTornSet,           // Shard 1 is told a round commit with one lane less.
  // Only shard 0 gets stages; those for other shards are acknowledged without being delivered.
  kStageOnOneShard,
  kNoDedupe,        // Each push is given a stream of its own.
  kNoStreamFence,   // A shard is told the newest generation in stream pushes.
  kNoLowWatermark,  // All low watermarks are 0.
  kForgetClosed,    // A shard that should close a stream forgets its ledger and does not close it.
  kNoWait,          // ssp: no pull waits.
  kEagerClock,      // ssp: a push tells a clock one step too high.
  // ssp: clocks that are sent without a gradient are not delivered, and shards keep their first
  // quorum.
  kDeafClocks,
  kHastySum,  // A shard adds staged gradients that the coordinator has not counted.
  kNoHold,    // A barrier is released as soon as it is reached.
  kNoFlush,   // Queues are not flushed at the end of the job.
};

struct SmallWorldOptions {
  std::optional<v1::UpdatePolicy> dense;  // Absent: the part has no parameters.
  std::optional<v1::UpdatePolicy> sparse;
  int shards = 2;
  int partitions_per_shard = 1;
  // The number of batches of each task or, if a part is sync, of each lane.
  std::vector<uint64_t> lengths;
  bool gaps = false;  // Not every batch touches every partition.
  int push_window = 2;
  bool news = false;  // Before a round closes, shards are told which lanes' gradients are counted.
  // The world is part of a ChiefWorld: nobody holds a lease, and no shard serves, until the real
  // chief says so; and a runner that waits before it repeats a call is woken by the ChiefWorld.
  bool real_chief = false;
  // How many faults of each kind may happen.
  int releases = 0;  // Leases that are granted while the old runner lives on.
  int timeouts = 0;
  int duplicates = 0;
  int crashes = 0;
  int drains = 0;
  int holds = 0;  // Barriers that the chief asks for.
  Lie lie = Lie::kNone;

  bool sync() const;
  bool ssp() const;
  bool has_stream() const;
};

// One thing that may happen next.
struct Step {
  enum class Kind {
    kDeliver,    // Message `index` arrives, and its answer reaches the runner, which waits for it.
    kCompute,    // Runner `index` has computed.
    kLease,      // Task or lane `index`, which no runner holds, is leased from batch `detail` on.
    kNews,       // Shard `index` is told which lanes' gradients the open round counts.
    kSetQuorum,  // Shard `index` is told the present trainers.
    kClose,      // Shard `index` is told that the stream of task `detail` is closed.
    // The round barrier is reached: the chief commits the round on every shard, and releases the
    // barrier.
    kBarrier,
    kFinish,  // All work is done: shard `index` commits the last round and flushes its queues.
    // The job can end without the steps from here on.
    kStray,  // Message `index` arrives, and no runner waits for its answer.
    // Faults.
    kRelease,    // Like kLease, but the old runner lives on and does not know of it.
    kHold,       // The chief asks for a round barrier.
    kDrain,      // Runner `index` is asked to stop.
    kTimeout,    // The runner gives up message `index`, which may still arrive.
    kDuplicate,  // Message `index` will arrive twice.
    kCrash,      // Runner `index` dies.
  };
  Kind kind{};
  size_t index = 0;
  uint64_t detail = 0;
  bool is_progress() const { return kind < Kind::kStray; }
};

// Thread-compatible.
class SmallWorld {
 public:
  explicit SmallWorld(const SmallWorldOptions& options);
  SmallWorld(const SmallWorld&) = default;
  SmallWorld& operator=(const SmallWorld&) = delete;

  std::vector<Step> Enabled() const;
  void Take(const Step& step);
  std::string Describe(const Step& step) const;

  // The first rule that was broken; empty: none was.
  const std::string& violation() const { return violation_; }
  // Returns whether the job has ended and every runner and shard knows.
  bool done() const;
  // Returns a text of the whole state, by which states are compared.
  std::string Text() const;

 protected:
  // A machine that is copied with its runner.
  class OwnMachine {
   public:
    OwnMachine() = default;
    explicit OwnMachine(std::unique_ptr<worker::RunnerMachine> machine)
        : machine_(std::move(machine)) {}
    OwnMachine(const OwnMachine& other)
        : machine_(other.machine_ == nullptr ? nullptr : other.machine_->Clone()) {}
    OwnMachine(OwnMachine&&) = default;

    worker::RunnerMachine& operator*() { return *machine_; }
    const worker::RunnerMachine& operator*() const { return *machine_; }

   private:
    std::unique_ptr<worker::RunnerMachine> machine_;
  };
  struct Runner {
    size_t work = 0;
    Generation generation;
    OwnMachine own_machine;  // Absent in a ChiefWorld, where `lease` has it.
    worker::TrainerClock clock;
    uint64_t start_clock = 0;
    absl::Time now = absl::UnixEpoch();
    bool alive = true;
    std::deque<uint64_t> computing;  // Batches, in the order in which they were submitted.
    // sync: number of the last computation; with the round it names a gradient.
    uint64_t computations = 0;
    std::map<uint64_t, uint64_t> steps;  // Batch -> step, as the runner's pulls have told.
    Timeline timeline{1};
    std::optional<RunnerLease> lease;  // In a ChiefWorld.

    worker::RunnerMachine& machine() { return lease ? lease->lifecycle.machine() : *own_machine; }
    const worker::RunnerMachine& machine() const {
      return lease ? lease->lifecycle.machine() : *own_machine;
    }
  };
  struct Message {
    uint64_t id = 0;
    size_t runner = 0;
    bool orphan = false;  // No runner waits for the answer.
    bool parked = false;  // The message has arrived, and waits at the shard or the coordinator.
    uint64_t computation = 0;
    worker::Action request;
  };
  // A gradient, as its handle names it.
  struct Gradient {
    size_t runner = 0;
    uint64_t batch = 0;
    uint64_t computation = 0;
    ps::GradientHandle handle() const;
    static Gradient Of(ps::GradientHandle handle);
  };
  using Record = std::pair<size_t, uint64_t>;  // (work, batch)
  struct Partition {
    size_t index = 0;
    ps::PartitionMachine machine;
    std::map<uint64_t, std::vector<ps::Contribution>> rounds[kParts];  // sync
    std::map<uint64_t, double> scales[kParts];                         // Likewise.
    // How often a gradient was accepted: promised to be applied, or applied.
    std::map<Record, int> accepted[kParts];
    std::map<Record, int> applied[kParts];
    std::map<size_t, Generation> fences[kParts];  // Highest generation accepted, by work.
    uint64_t checked_round = 0;
  };
  struct Shard {
    std::vector<Partition> partitions;
    ps::ClosedLog log;
    LaneCounts counts{Timeline{1}};
    ps::ClockMachine clocks;
    std::vector<ps::QuorumTrainer> quorum;  // As the shard knows it.
    // By runner: the steps whose pushes have been carried out here.
    std::map<size_t, std::set<uint64_t>> carried_out;
    bool quorum_stale = false;
    bool finished = false;
    std::set<uint64_t> closed;  // Works whose streams are closed here.
    Timeline timeline{1};       // The timeline that is served.
    bool serves = true;
  };
  struct Work {
    std::optional<size_t> runner;  // The runner that holds the lease now.
    uint64_t progress = 0;         // The highest progress that a runner has known to be settled,
    uint64_t reported = 0;         // and the part of it that the chief has been told.
    bool done = false;
  };

  // world.cc: runners, and the network.
  void Feed(size_t runner, worker::Event event);
  std::optional<worker::Event> CarryOut(size_t runner, const worker::Action& action);
  void Send(size_t runner, const worker::Action& action);
  void Leave(size_t runner);
  void Answer(const Message& message, const worker::Event& event);
  void Fail(const Message& message);
  bool Reaches(const Message& message) const;
  void Timeout(size_t index);
  void AddNetworkSteps(std::vector<Step>& steps) const;

  // world_chief.cc: leases, trainers, the end.
  void Grant(size_t work, uint64_t first_batch);
  void RefreshQuorum();
  std::vector<ps::QuorumTrainer> Trainers() const;
  bool AllWorkDone() const;
  void Finish(Shard& shard);
  void Close(Shard& shard, size_t work);
  void AtBarrier();
  void AddChiefSteps(std::vector<Step>& steps) const;
  void CheckEnd();

  // world_shards.cc: messages that arrive.
  void Serve(Message message);
  void ServePull(Message message, const worker::SendPull& pull);
  void Read(const Message& message, const worker::SendPull& pull);
  void ServePush(const Message& message, const worker::SendPush& push);
  v1::Outcome PushPart(Partition& partition, Part part, const Message& message,
                       const worker::SendPush& push);
  void ServeOpen(Message message, const worker::SendOpen& open);
  void ServeReport(const Message& message, const worker::SendReport& report);
  void AnswerOpens(const ps::CoordinatorAnswers& answers);
  void AnswerPulls(Shard& shard, const ps::PullAnswers& answers);
  void TellClock(Shard& shard, size_t runner, uint64_t clock);
  void LearnClosed(size_t shard, RoundCommit closed);
  ps::NewsCursor Told(const Shard& shard) const;
  void LearnNews(Shard& shard, const LaneNews& news);
  void CatchUp(Shard& shard, Partition& partition);
  Message Unpark(uint64_t id);

  // world_text.cc
  static std::string TextOf(const worker::Action& request);
  static std::string TextOf(const Runner& runner);
  std::string TextOf(const Shard& shard) const;
  static void AppendPartition(const Partition& partition, std::string& text);

  // world_checks.cc: the invariants.
  void Note(Partition& partition, const ps::Decision& decision);
  void NoteClosed();
  void NoteApplied(Partition& partition, Part part, ps::GradientHandle handle);
  void CheckRound(const Partition& partition, uint64_t round);
  void CheckBound(const Shard& shard, const worker::SendPull& pull);
  void CheckAccepted(Partition& partition, Part part, const worker::SendPush& push, size_t runner);
  void CheckHolds(const Partition& partition);

  bool Touches(size_t work, uint64_t batch, size_t partition) const;
  std::vector<ShardIndex> ShardsOf(size_t work, uint64_t batch) const;
  StreamId StreamOf(size_t work) const { return StreamId::Task(0, static_cast<uint32_t>(work)); }
  Generation NewestGeneration(size_t work) const;
  uint64_t CursorAt(size_t lane, uint64_t round) const;
  bool Has(Part part) const;
  void Violate(const std::string& what);

  struct Budgets {  // How many faults have happened.
    int releases = 0;
    int timeouts = 0;
    int duplicates = 0;
    int crashes = 0;
    int drains = 0;
    int holds = 0;
  };
  static constexpr ps::WaiterId kChief{~uint64_t{0}};
  enum class Barrier { kNone, kAsked, kReached };

  std::shared_ptr<const SmallWorldOptions> options_;  // Shared by all copies of a world.
  std::string violation_;
  SharedVector<Runner> runners_;
  std::vector<Message> messages_;
  SharedVector<Shard> shards_;
  std::optional<ps::CoordinatorMachine> coordinator_;
  std::map<uint64_t, RoundCommit> round_commits_;  // What the coordinator decided, by round.
  std::map<std::pair<uint64_t, size_t>, uint64_t>
      computed_;                 // (round, lane) -> the handle of the gradient that was applied.
  std::set<size_t> pretending_;  // Lie::kEmptyLanesCount: lanes that have no data.
  std::vector<Work> works_;
  Budgets budgets_;
  Barrier barrier_ = Barrier::kNone;
  uint64_t barrier_round_ = 0;  // The round of the barrier, as the coordinator has answered.
  uint64_t next_message_ = 1;
  uint64_t next_generation_ = 1;
};

}  // namespace capstan::simulation

#endif  // CAPSTAN_TESTS_SIMULATION_WORLD_H_
