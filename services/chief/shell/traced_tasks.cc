#include "chief/shell/traced_tasks.h"

#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "capstan/base/trace.h"
#include "capstan/consistency/generation.h"
#include "capstan/v1/ps.pb.h"

namespace capstan::chief {
namespace {

std::string TextOf(const Generation& generation) {
  return absl::StrCat(generation.term, ".", generation.count);
}

void AppendBatches(uint64_t stream, uint64_t batches, std::string& text) {
  absl::StrAppend(&text, text.empty() ? "" : " ", stream, ":", batches);
}

uint64_t StreamOf(const v1::OpenTask& task) {
  return StreamId::Task(task.data_epoch(), task.task()).value;
}

std::string TextOf(const v1::TaskProgress& progress) {
  std::string text;
  for (const v1::OpenTask& task : progress.open_tasks()) {
    AppendBatches(StreamOf(task), task.batches(), text);
  }
  return text;
}

void TraceCloses(const v1::CloseStreamsRequest& request) {
  std::string text;
  for (const v1::StreamClose& close : request.streams()) {
    AppendBatches(close.stream(), close.batches(), text);
  }
  trace::Write("closing", {{"streams", text}});
}

}  // namespace

void TracedTasks::See(uint64_t timeline, const v1::TaskProgress& progress,
                      std::span<const Action> actions) {
  if (!trace::On()) return;
  Tasks tasks = TasksOf(progress);
  if (timeline != timeline_) {
    trace::Write("entered",
                 {{"timeline", timeline}, {"begun", progress.begun()}, {"open", TextOf(progress)}});
    timeline_ = timeline;
  } else {
    SeeTasks(tasks);
  }
  tasks_ = std::move(tasks);
  for (const Action& action : actions) {
    if (const auto* store = std::get_if<StoreState>(&action)) {
      trace::Write("storing", {{"open", TextOf(store->state.progress())}});
    } else if (const auto* call = std::get_if<CallShard>(&action)) {
      const auto* save = call->request.As<v1::SavePartitionsRequest>();
      const auto* close = call->request.As<v1::CloseStreamsRequest>();
      if (save != nullptr) SeeSave(*save);
      if (close != nullptr) TraceCloses(*close);
    }
  }
}

TracedTasks::Tasks TracedTasks::TasksOf(const v1::TaskProgress& progress) {
  Tasks tasks;
  for (const v1::OpenTask& task : progress.open_tasks()) {
    tasks[StreamOf(task)] = {task.batches(), GenerationFromProto(task.generation())};
  }
  return tasks;
}

// Reports are traced before leases, because a lease begins where the reports end.
void TracedTasks::SeeTasks(const Tasks& tasks) const {
  for (const auto& [stream, before] : tasks_) {
    const auto now = tasks.find(stream);
    if (now == tasks.end()) {
      trace::Write("done", {{"stream", stream}, {"generation", TextOf(before.generation)}});
    } else if (now->second.batches > before.batches) {
      trace::Write("reported", {{"stream", stream},
                                {"generation", TextOf(before.generation)},
                                {"batches", now->second.batches}});
    }
  }
  for (const auto& [stream, now] : tasks) {
    const auto before = tasks_.find(stream);
    if (before != tasks_.end() && before->second.generation == now.generation) continue;
    trace::Write(
        "leased",
        {{"stream", stream}, {"generation", TextOf(now.generation)}, {"first", now.batches}});
  }
}

// Traces only the first order of a checkpoint: orders are repeated until they are carried out.
void TracedTasks::SeeSave(const v1::SavePartitionsRequest& request) {
  if (request.id() == checkpoint_) return;
  checkpoint_ = request.id();
  trace::Write("recorded", {{"checkpoint", checkpoint_}});
}

void TraceSaved(const v1::Manifest& manifest) {
  if (!trace::On()) return;
  trace::Write("saved", {{"checkpoint", manifest.id()}, {"open", TextOf(manifest.progress())}});
}

}  // namespace capstan::chief
