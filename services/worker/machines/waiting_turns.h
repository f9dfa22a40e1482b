// Limits how many calls of a worker wait at a shard for something that is yet to happen. A
// connection carries a fixed number of calls at a time (rpc/limits.h, kMaxStreamsPerConnection). If
// all of these were waiting, the call that would end the waiting could not be sent.
#ifndef CAPSTAN_WORKER_MACHINES_WAITING_TURNS_H_
#define CAPSTAN_WORKER_MACHINES_WAITING_TURNS_H_

#include <cstddef>
#include <deque>
#include <memory>

#include "absl/functional/any_invocable.h"

namespace capstan::worker {

// Turns begin in the order of the Ask() calls. Thread-compatible; turns may outlive the object.
class WaitingTurns {
  struct Queue;

 public:
  // The right to have one call wait; it ends when the Turn is destroyed.
  class Turn {
   public:
    explicit Turn(std::shared_ptr<Queue> queue) : queue_(std::move(queue)) {}
    Turn(Turn&& other) noexcept = default;
    Turn& operator=(Turn&& other) = delete;
    ~Turn();

   private:
    std::shared_ptr<Queue> queue_;  // Null: moved from.
  };
  using Begin = absl::AnyInvocable<void(Turn)>;

  explicit WaitingTurns(size_t most);

  // Calls begin(turn) as soon as fewer than `most` turns are held: within this call, or when
  // another turn ends.
  void Ask(Begin begin);

 private:
  struct Queue {
    const size_t most;
    size_t held = 0;
    std::deque<Begin> asked = {};
    bool beginning = false;
  };
  static void BeginNext(const std::shared_ptr<Queue>& queue);

  const std::shared_ptr<Queue> queue_;
};

}  // namespace capstan::worker

#endif  // CAPSTAN_WORKER_MACHINES_WAITING_TURNS_H_
