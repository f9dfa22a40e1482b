// The streams that were closed since the last checkpoint. With `recovery: partial` a shard that
// returns to that checkpoint alone is sent these closes, as the streams are open in the copy that
// it loads.
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
  // The log is written with every state of the job, and would grow without a bound while no
  // checkpoint succeeds. A log that would exceed this number, some 4 MB of text, keeps no closes.
  static constexpr size_t kMost = 100'000;

  void Add(const v1::StreamClose& close) {
    since_last_.Add(close);
    since_begun_.Add(close);
  }
  // Records that the log has missed closes: it is not whole() until a checkpoint that is begun from
  // now on is stored.
  void GiveUp() { since_last_ = since_begun_ = {.whole = false}; }

  // A checkpoint begins. Every shard has closed all streams except `unconfirmed`.
  void BeginCheckpoint(std::deque<v1::StreamClose> unconfirmed) {
    since_begun_ = {.closes = std::move(unconfirmed)};
  }
  void OnCheckpointStored() { since_last_ = since_begun_; }

  // The closes since the last checkpoint; empty if the log is not whole().
  const std::deque<v1::StreamClose>& closes() const { return since_last_.closes; }
  // Returns false if closes are missing from the log, so that no shard can return to the last
  // checkpoint alone. It may be true again after the next checkpoint.
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
