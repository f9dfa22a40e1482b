// The streams of tasks that are done, on their way to be closed on every shard. A stream is closed
// only when the store knows that its task is done: a chief that goes on from what is stored would
// have the task trained again.
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
  // Where no part of the job uses streams there is nothing to close; only jobs whose shards recover
  // partially need the log().
  explicit StreamCloses(const v1::JobSpec& spec);

  // A task is done, which the state says that `writer` is asked for here.
  void Add(v1::StreamClose close, StateWriter& writer);
  // A chief before this one has stored that the task is done. It may have closed the stream; to
  // close it again changes nothing.
  void Inherit(const v1::StreamClose& close);
  // The job has returned to this checkpoint, by whose progress these tasks are done, and so it is
  // stored. Their streams are closed once more where a partition of it may hold them open, for only
  // a close tells what a partition that had come back alone lacks (docs/spec, rule 37): those that
  // the checkpoint names, and those that this chief has to name where an older Capstan has saved.
  void ReturnTo(const v1::Manifest& manifest, absl::FunctionRef<bool(const v1::StreamClose&)> done);

  // Passes on what is stored. `quiet`: partitions are about to change their owner, so that none is
  // begun.
  void PassOn(bool quiet, const StateWriter& writer);
  // Has each of `shards`, which are all that hold partitions, close what it has not closed.
  void Send(const std::set<uint32_t>& shards, absl::Duration deadline, ShardCalls& calls) {
    closer_.Advance(shards, deadline, calls);
  }
  void OnClosed(uint32_t shard) { closer_.OnClosed(shard); }
  // What not every shard has confirmed is sent to all of them again.
  void SendAnew();

  // Whether every shard has closed all streams that were passed on.
  bool settled() const { return closer_.complete(); }
  // Whether, beside that, no close waits for the store.
  bool complete() const { return waiting_.empty() && settled(); }
  // Returns the closes that some shard has not confirmed.
  std::deque<v1::StreamClose> Unconfirmed() const;

  // What a shard is told that comes back from the last checkpoint alone.
  CloseLog& log() { return log_; }
  const CloseLog& log() const { return log_; }
  // Returns the closes that are stored for the next chief.
  std::deque<v1::StreamClose> ToStore() const {
    return logs_ && log_.whole() ? log_.closes() : Unconfirmed();
  }

 private:
  bool closes_;
  bool logs_;
  std::deque<std::pair<StateWriter::Ticket, v1::StreamClose>> waiting_;  // For the store.
  StreamCloser closer_;
  CloseLog log_;
};

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_MACHINES_STREAM_CLOSES_H_
