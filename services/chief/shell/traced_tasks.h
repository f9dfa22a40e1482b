// Writes the chief's part of the trace (capstan/base/trace) of an asynchronous job, as the actions
// of ExactlyOnce in docs/spec: a timeline begins, with its progress; a task is leased, with the
// generation; its batches are reported up to a number; it is done; the state is about to be stored;
// the progress of a checkpoint is recorded; the checkpoint is saved; shards are ordered to close
// streams.
//
// Progress is written like "41:7 42:0": for each task that is begun and not done, its stream, and
// how many of its leading batches are settled.
#ifndef CAPSTAN_CHIEF_SHELL_TRACED_TASKS_H_
#define CAPSTAN_CHIEF_SHELL_TRACED_TASKS_H_

#include <cstdint>
#include <map>
#include <span>
#include <string>

#include "capstan/base/ids.h"
#include "capstan/v1/checkpoint.pb.h"
#include "chief/state/chief_actions.h"

namespace capstan::chief {

// Derives what has happened from what has changed since the last See. Thread-compatible.
class TracedTasks {
 public:
  // Must be called after each event of the machine, under its lock, with its timeline, progress and
  // new actions. Does nothing unless the process writes a trace.
  void See(uint64_t timeline, const v1::TaskProgress& progress, std::span<const Action> actions);

 private:
  // A task that is begun and not done.
  struct Open {
    uint64_t batches = 0;
    Generation generation;
  };
  using Tasks = std::map<uint64_t, Open>;  // By stream.

  static Tasks TasksOf(const v1::TaskProgress& progress);
  void SeeTasks(const Tasks& tasks) const;
  void SeeSave(const v1::SavePartitionsRequest& request);

  uint64_t timeline_ = 0;
  Tasks tasks_;             // The tasks at the last See.
  std::string checkpoint_;  // The checkpoint that was ordered last.
};

// Traces that the manifest is about to be written: from now on a chief that recovers may find the
// checkpoint.
void TraceSaved(const v1::Manifest& manifest);

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_SHELL_TRACED_TASKS_H_
