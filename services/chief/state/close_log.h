// The streams closed since the last checkpoint: what a shard is told that comes back from it alone
// (recovery: partial), for its copy still takes them for open.
#ifndef CAPSTAN_CHIEF_STATE_CLOSE_LOG_H_
#define CAPSTAN_CHIEF_STATE_CLOSE_LOG_H_

#include <deque>
#include <utility>

#include "capstan/v1/ps.pb.h"

namespace capstan::chief {

// Thread-compatible.
class CloseLog {
 public:
  void Add(const v1::StreamClose& close) {
    since_last_.push_back(close);
    since_begun_.push_back(close);
  }

  // A checkpoint is begun; every shard has closed all but `unconfirmed`.
  void BeginCheckpoint(std::deque<v1::StreamClose> unconfirmed) {
    since_begun_ = std::move(unconfirmed);
  }
  void OnCheckpointStored() { since_last_ = since_begun_; }

  const std::deque<v1::StreamClose>& closes() const { return since_last_; }

 private:
  std::deque<v1::StreamClose> since_last_;
  std::deque<v1::StreamClose> since_begun_;
};

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_STATE_CLOSE_LOG_H_
