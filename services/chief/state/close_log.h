// The streams closed since the last checkpoint: what a shard is told that comes back from it alone
// (recovery: partial), for its copy still takes them for open.
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
  // Where no checkpoint succeeds there is no end of them, and all are written with every state of
  // the job: some 4 MB of text. Of more than these none is kept.
  static constexpr size_t kMost = 100'000;

  void Add(const v1::StreamClose& close) {
    since_last_.Add(close);
    since_begun_.Add(close);
  }
  // Some have not been added, and never will be.
  void GiveUp() { since_last_ = since_begun_ = {.whole = false}; }

  // A checkpoint is begun; every shard has closed all but `unconfirmed`.
  void BeginCheckpoint(std::deque<v1::StreamClose> unconfirmed) {
    since_begun_ = {.closes = std::move(unconfirmed)};
  }
  void OnCheckpointStored() { since_last_ = since_begun_; }

  // Empty if they are not whole().
  const std::deque<v1::StreamClose>& closes() const { return since_last_.closes; }
  // False: there were more than are kept, so that no shard can come back alone from the last
  // checkpoint. The next one may end that.
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
