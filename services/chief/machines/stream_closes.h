// The streams of tasks that are done, on their way to be closed on every shard. A stream is closed
// only after the state is stored that says that its task is done: otherwise the next chief, which
// goes on from what is stored, would have the task trained again.
#ifndef CAPSTAN_CHIEF_MACHINES_STREAM_CLOSES_H_
#define CAPSTAN_CHIEF_MACHINES_STREAM_CLOSES_H_

#include <cstdint>
#include <deque>
#include <set>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/time/time.h"
#include "capstan/v1/checkpoint.pb.h"
#include "capstan/v1/job.pb.h"
#include "capstan/v1/ps.pb.h"
#include "chief/machines/stream_closer.h"
#include "chief/state/close_log.h"
#include "chief/state/shard_calls.h"
#include "chief/state/state_writer.h"

namespace capstan::chief {

// Thread-compatible.
class StreamCloses {
 public:
  // If no part of the job uses streams, nothing is ever closed. Only jobs whose shards recover
  // partially keep the log().
  explicit StreamCloses(const v1::JobSpec& spec);

  // A task is done. Asks `writer` to store the state, after which the stream of the task is closed.
  void Add(v1::StreamClose close, StateWriter& writer);
  // An earlier chief has stored that the task is done. It may have closed the stream already; to
  // close it again changes nothing.
  void Inherit(const v1::StreamClose& close);
  // The job has returned to the checkpoint of `manifest`; `done` tells whether a task is done by
  // its progress, and so stored as done. The streams of such tasks that a partition of the
  // checkpoint may hold open are closed once more, for only a close tells what a partition that had
  // come back alone lacks (docs/spec, rule 37). These are the streams that the manifest names, and
  // those that this chief knows, as a checkpoint of an older Capstan names none.
  void ReturnTo(const v1::Manifest& manifest, absl::FunctionRef<bool(const v1::StreamClose&)> done);

  // Passes on the closes whose tasks are stored as done, so that Send sends them. Passes on none if
  // `quiet`: partitions are about to change their owner.
  void PassOn(bool quiet, const StateWriter& writer);
  // Has each of `shards`, which are all that hold partitions, close what it has not closed.
  void Send(const std::set<uint32_t>& shards, absl::Duration deadline, ShardCalls& calls) {
    closer_.Advance(shards, deadline, calls);
  }
  void OnClosed(uint32_t shard) { closer_.OnClosed(shard); }
  // Has the closes that some shard has not confirmed sent to all shards again.
  void SendAnew();

  // Returns true if every shard has closed all streams that were passed on.
  bool settled() const { return closer_.complete(); }
  // Returns true if settled(), and no close waits for the store.
  bool complete() const { return waiting_.empty() && settled(); }
  // Returns the closes that some shard has not confirmed.
  std::deque<v1::StreamClose> Unconfirmed() const;

  // What a shard that returns to the last checkpoint alone is told.
  CloseLog& log() { return log_; }
  const CloseLog& log() const { return log_; }
  // Returns the closes to be stored for the next chief.
  std::deque<v1::StreamClose> ToStore() const {
    return logs_ && log_.whole() ? log_.closes() : Unconfirmed();
  }

 private:
  bool closes_;
  bool logs_;
  std::deque<std::pair<StateWriter::Ticket, v1::StreamClose>> waiting_;  // Until stored.
  StreamCloser closer_;
  CloseLog log_;
};

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_MACHINES_STREAM_CLOSES_H_
