// A runner under test: fed with events, its actions picked by type.
#ifndef CAPSTAN_TESTS_UNIT_WORKER_MACHINES_TESTING_H_
#define CAPSTAN_TESTS_UNIT_WORKER_MACHINES_TESTING_H_

#include <gtest/gtest.h>

#include <memory>
#include <utility>
#include <vector>

#include "worker/machines/runner_machine.h"

namespace capstan::worker {

inline constexpr ShardIndex kShard0{0};
inline constexpr ShardIndex kShard1{1};
inline constexpr ShardIndex kShard2{2};

// A view of these shards in which nobody has begun anew.
inline ViewChanged ViewOf(std::vector<ShardIndex> shards) { return {.shards = std::move(shards)}; }
// Another map: the batch has its parameters on `on`.
inline ViewChanged Moved(std::vector<ShardIndex> shards, uint64_t batch,
                         std::vector<ShardIndex> on) {
  return {.shards = std::move(shards),
          .moved = true,
          .replanned = {BatchRead{.batch = batch, .shards = std::move(on)}}};
}

class Driver {
 public:
  explicit Driver(std::unique_ptr<RunnerMachine> machine) : machine_(std::move(machine)) {
    Feed(Start{});
  }

  void Feed(const Event& event) {
    const auto random = [this] { return drawn; };
    for (Action& action : machine_->On(event, {now, clock, random})) {
      actions_.push_back(std::move(action));
    }
  }

  // Takes all actions of a type that have not been taken.
  template <typename A>
  std::vector<A> TakeAll() {
    std::vector<A> taken;
    std::erase_if(actions_, [&taken](const Action& action) {
      if (const A* found = std::get_if<A>(&action)) taken.push_back(*found);
      return std::holds_alternative<A>(action);
    });
    return taken;
  }

  // The only one.
  template <typename A>
  A Take() {
    const std::vector<A> taken = TakeAll<A>();
    EXPECT_EQ(taken.size(), 1u);
    return taken.empty() ? A{} : taken[0];
  }

  // Answers each ReadBatch; the data ends before `length`.
  void Read(uint64_t length, uint32_t examples = 4) {
    for (const ReadBatch& read : TakeAll<ReadBatch>()) {
      if (read.batch < length) {
        Feed(BatchRead{read.batch, examples, {kShard0, kShard1}, {77}, read.batch});
      } else {
        Feed(EndOfData{length});
      }
    }
  }
  void Pull() {
    for (const SendPull& pull : TakeAll<SendPull>()) Feed(PullDone{pull.ticket, {}, {}});
  }
  void ComputeAll(double loss = 1) {
    for (const Compute& compute : TakeAll<Compute>()) Feed(Computed{compute.batch, loss, false});
  }
  void Push() {
    for (const SendPush& push : TakeAll<SendPush>()) Feed(PushDone{push.ticket, {}, {}, {}});
  }
  // Lets the time come that the machine waits for.
  void Wake() {
    now = std::max(now, machine_->NextWake());
    Feed(Tick{});
  }

  RunnerMachine& machine() { return *machine_; }
  RunnerProgress progress() const { return machine_->progress(); }

  absl::Time now = absl::UnixEpoch();
  TrainerClock clock;
  double drawn = 1;  // Whenever the machine draws.

 private:
  std::unique_ptr<RunnerMachine> machine_;
  Actions actions_;
};

}  // namespace capstan::worker

#endif  // CAPSTAN_TESTS_UNIT_WORKER_MACHINES_TESTING_H_
