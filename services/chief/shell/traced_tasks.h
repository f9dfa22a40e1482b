// What the chief tells the trace (capstan/base/trace) of an asynchronous job, in the words of
// ExactlyOnce in docs/spec: that a timeline is entered, with which progress; a task that is leased,
// to a generation; up to where its batches are reported; that it is done; that the state is about
// to be stored; a checkpoint whose progress is recorded, and which is complete; and streams that
// shards are told to close.
//
// Progress is written as in "41:7 42:0": stream, and how many of its leading batches are settled,
// of each task that is begun and not done.
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

// Finds what has happened by what has changed since it looked last. Thread-compatible.
class TracedTasks {
 public:
  // To be called after each event of the machine, under the lock that guards it, with what the
  // machine knows then and asks for. Does nothing unless the process writes a trace.
  void See(uint64_t timeline, const v1::TaskProgress& progress, std::span<const Action> actions);

 private:
  // How far a task is that is begun and not done.
  struct Open {
    uint64_t batches = 0;
    Generation generation;
  };
  using Tasks = std::map<uint64_t, Open>;  // By stream.

  static Tasks TasksOf(const v1::TaskProgress& progress);
  void SeeTasks(const Tasks& tasks) const;
  void SeeSave(const v1::SavePartitionsRequest& request);

  uint64_t timeline_ = 0;
  Tasks tasks_;             // As it looked last.
  std::string checkpoint_;  // Ordered last.
};

// The manifest is written: whoever returns to a checkpoint may find it.
void TraceSaved(const v1::Manifest& manifest);

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_SHELL_TRACED_TASKS_H_
