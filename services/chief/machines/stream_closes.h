// The streams of finished tasks, until they are closed on every shard. A stream is closed only
// after the state is stored that says that its task is done. Otherwise the next chief, which
// continues from the stored state, would have the task trained again.
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
  // If no part of the job uses streams, nothing is ever closed. The log() is kept only in jobs with
  // partial recovery.
  explicit StreamCloses(const v1::JobSpec& spec);

  // A task is done. Requests that `writer` stores the state; the stream is closed after that.
  void Add(v1::StreamClose close, StateWriter& writer);
  // An earlier chief has stored that the task is done. The stream may be closed already; closing it
  // again has no effect.
  void Inherit(const v1::StreamClose& close);
  // The job has returned to the checkpoint of `manifest`. `done` returns true if the checkpoint's
  // progress, which is stored, says that the task of a stream is done. The streams of such tasks
  // that may be open in a partition of the checkpoint are closed once more: only by a close does a
  // partition that came back by partial recovery learn how many batches it lacks (docs/spec, rule
  // 37). These streams are the ones that the manifest names and, as checkpoints of older versions
  // name none, those that this chief knows.
  void ReturnTo(const v1::Manifest& manifest, absl::FunctionRef<bool(const v1::StreamClose&)> done);

  // Passes the closes whose tasks are stored as done on to Send. Passes on none if `quiet`, which
  // means that partitions are about to change their owner.
  void PassOn(bool quiet, const StateWriter& writer);
  // Has each of `shards`, which are all that hold partitions, close what it has not closed.
  void Send(const std::set<uint32_t>& shards, absl::Duration deadline, ShardCalls& calls) {
    closer_.Advance(shards, deadline, calls);
  }
  void OnClosed(uint32_t shard) { closer_.OnClosed(shard); }
  // Sends the closes that at least one shard has not confirmed to all shards again.
  void SendAnew();

  // Returns true if every shard has closed all streams that were passed on.
  bool settled() const { return closer_.complete(); }
  // Returns true if settled(), and no close waits for the store.
  bool complete() const { return waiting_.empty() && settled(); }
  // Returns the closes that some shard has not confirmed.
  std::deque<v1::StreamClose> Unconfirmed() const;

  // The closes that a shard is sent when it returns to the last checkpoint alone.
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
