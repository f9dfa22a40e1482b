#include "worker/machines/waiting_turns.h"

#include <utility>

namespace capstan::worker {

WaitingTurns::WaitingTurns(size_t most) : queue_(std::make_shared<Queue>(Queue{.most = most})) {}

WaitingTurns::Turn::~Turn() {
  if (queue_ == nullptr) return;
  --queue_->held;
  BeginNext(queue_);
}

void WaitingTurns::Ask(Begin begin) {
  queue_->asked.push_back(std::move(begin));
  BeginNext(queue_);
}

// A turn that ends within its own begin() calls this function again, which then returns at once:
// the loop of the outer call goes on with the next. So a long queue of turns that end at once is no
// deep recursion.
void WaitingTurns::BeginNext(const std::shared_ptr<Queue>& queue) {
  if (std::exchange(queue->beginning, true)) return;
  while (queue->held < queue->most && !queue->asked.empty()) {
    Begin begin = std::move(queue->asked.front());
    queue->asked.pop_front();
    ++queue->held;
    begin(Turn(queue));
  }
  queue->beginning = false;
}

}  // namespace capstan::worker
