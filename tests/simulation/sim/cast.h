// What the processes of a simulated world may reach of it.
#ifndef CAPSTAN_TESTS_SIMULATION_SIM_CAST_H_
#define CAPSTAN_TESTS_SIMULATION_SIM_CAST_H_

#include <cstdint>
#include <string_view>

#include "tests/simulation/sim/job.h"
#include "tests/simulation/sim/network.h"
#include "tests/simulation/sim/schedule.h"
#include "tests/simulation/sim/store.h"

namespace capstan::sim {

class Checks;
class ChiefProcess;
class ShardProcess;

// Rules that a world leaves out, to see that it is noticed.
enum class Lie {
  kNone,
  kNewStreams,       // Each push is of a stream of its own: nothing is recognised.
  kForgetfulWorker,  // A batch counts as acknowledged when it is sent.
  kEagerClock,       // ssp: a push tells one step more than it finishes.
  kClockInAllCalls,  // ssp: so does every call of a push, though others are still on their way.
  kNoWait,           // ssp: no pull waits.
  kTornSet,          // Shard 1 hears of one lane less.
  kWrongRound,       // A pull reads whatever round there is.
  kNoCommit,         // The last round is brought to nobody.
  kNoFlush,          // Queues are not flushed.
  kLoseTask,         // A lease that was lost counts as done.
  kReassigned,       // A lease that begins within a task assigns its pieces anew.
  kNoRowVersions,    // No row's version is given back: rows are judged by their partition.
  kSilentFailure,    // A worker that cannot read what it shall evaluate does not say so.
  kLoseBadRecords,   // A lease that begins within a task tells of none before it.
  kHastyView,        // Everybody hears of a timeline that is only on its way to the store.
  kHastyClose,       // Of a task's end likewise.
  kForgetNewest,     // A chief does not know the last checkpoint of the one before.
  kNoFence,          // The store takes the state of whoever writes.
  kForgetfulStore,   // The store forgets a partition now and then.
  kForgetOpen,       // A checkpoint does not say which streams it may hold open.
  kNotTold,          // A shard that recovers partially is not told what has happened meanwhile.
  kSilentLoss,       // It does not tell what it has lost.
  kSilentStall,      // A worker whose data do not come does not say so.
  kEmptyNewShard,    // A shard that is new to the job begins with nothing.
  kFalseAlarm,       // A shard takes a sound checkpoint for damaged.
  kHastySum,        // A shard adds what has been staged, though the coordinator has not counted it.
  kThawsAlone,      // A partition that stands still for its move goes on by itself.
  kClockOfAnyView,  // ssp: a clock counts by whatever view it is told.
  kAlone,           // An owner acknowledges a push before its backup has it.
  kNonfinite,       // Workers say of every lease that its loss is not finite.
  kBelieved,        // Chief and shards believe whatever a worker says of leases: nothing is sealed.
};

class Cast {
 public:
  virtual ~Cast() = default;
  virtual Schedule& schedule() = 0;
  virtual Network& network() = 0;
  virtual const Job& job() const = 0;
  virtual Checks& checks() = 0;
  virtual Lie lie() const = 0;
  virtual uint64_t NewIncarnation() = 0;
  virtual SimStore& store() = 0;
  // Where a call to the chief's Service goes: while an old chief lives on, perhaps to that one.
  virtual HostId chief_host() = 0;
  virtual uint32_t first_shards() const = 0;  // That there were at the beginning.
  virtual HostId shard_host(uint32_t shard) const = 0;
  virtual ChiefProcess* chief(HostId host) = 0;     // nullptr: there is none now.
  virtual ShardProcess* shard(uint32_t index) = 0;  // nullptr: there is none now.
  // The process of that life ends by itself; somebody starts another one.
  virtual void Exit(const Life& life, std::string_view why) = 0;
};

}  // namespace capstan::sim

#endif  // CAPSTAN_TESTS_SIMULATION_SIM_CAST_H_
