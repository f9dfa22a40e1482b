// The streams that were closed since the last checkpoint. A shard that returns to that checkpoint
// alone (recovery: partial) is told of them, for in the copy that it loads they are still open.
#ifndef CAPSTAN_CHIEF_STATE_CLOSE_LOG_H_
#define CAPSTAN_CHIEF_STATE_CLOSE_LOG_H_

#include <cstddef>
#include <deque>
#include <utility>

#include "capstan/v1/ps.pb.h"

namespace capstan::chief {

// Thread-compatible.
class CloseLog {
 public:
  // All closes are written with every state of the job, and would pile up while no checkpoint
  // succeeds. So a log that would have more than this many, some 4 MB of text, keeps none at all.
  static constexpr size_t kMost = 100'000;

  void Add(const v1::StreamClose& close) {
    since_last_.Add(close);
    since_begun_.Add(close);
  }
  // The log has missed closes for good: it is not whole() until the next checkpoint is stored.
  void GiveUp() { since_last_ = since_begun_ = {.whole = false}; }

  // A checkpoint is begun, and every shard has closed all streams but `unconfirmed`.
  void BeginCheckpoint(std::deque<v1::StreamClose> unconfirmed) {
    since_begun_ = {.closes = std::move(unconfirmed)};
  }
  void OnCheckpointStored() { since_last_ = since_begun_; }

  // The closes since the last checkpoint; empty if the log is not whole().
  const std::deque<v1::StreamClose>& closes() const { return since_last_.closes; }
  // False if closes are missing from the log, so that no shard can return to the last checkpoint
  // alone. The next checkpoint may end that.
  bool whole() const { return since_last_.whole; }

 private:
  struct List {
    void Add(const v1::StreamClose& close) {
      whole = whole && closes.size() < kMost;
      if (!whole) return closes.clear();
      closes.push_back(close);
    }

    std::deque<v1::StreamClose> closes = {};
    bool whole = true;
  };

  List since_last_;
  List since_begun_;
};

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_STATE_CLOSE_LOG_H_
