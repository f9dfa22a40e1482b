#include "chief/work/lane_table.h"

#include <algorithm>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "capstan/base/status.h"
#include "capstan/consistency/generation.h"
#include "chief/work/lane_assigner.h"
#include "chief/work/task_limits.h"

namespace capstan::chief {
namespace {

// A lease names this many tasks ahead; more are sent when fewer than kTasksLow are left.
constexpr uint64_t kTasksAhead = 8;
constexpr uint64_t kTasksLow = 4;

}  // namespace

LaneTable::LaneTable(TaskSequence sequence, uint32_t lanes, uint32_t batch_size)
    : sequence_(std::move(sequence)), batch_size_(batch_size), lanes_(lanes), epochs_(sequence_) {
  for (size_t l = 0; l < lanes_.size(); ++l) {
    if (sequence_.size() > l) lanes_[l].tasks = (sequence_.size() - l - 1) / lanes_.size() + 1;
  }
}

void LaneTable::Assign(std::span<const TrainerId> trainers, Generations& generations,
                       const InPlace& in_place) {
  std::vector<std::optional<TrainerId>> holders;
  std::vector<size_t> open;
  for (size_t l = 0; l < lanes_.size(); ++l) {
    if (lanes_[l].ended) continue;
    open.push_back(l);
    holders.push_back(lanes_[l].holder);
  }
  std::vector<std::optional<TrainerId>> assigned = AssignLanes(holders, trainers);
  for (size_t i = 0; i < open.size(); ++i) {
    Lane& lane = lanes_[open[i]];
    if (in_place != nullptr && assigned[i]) {
      const std::optional<TrainerId> other = in_place(NameOf(open[i]), *assigned[i]);
      if (other) assigned[i] = lane.holder ? lane.holder : other;
    }
    if (assigned[i] == lane.holder) continue;
    SetHolder(open[i], assigned[i]);
    lane.generation = generations.Next();
    lane.examples = 0;
    lane.loss_sum = 0;
  }
}

void LaneTable::SetHolder(size_t lane, std::optional<TrainerId> holder) {
  std::optional<TrainerId>& present = lanes_[lane].holder;
  if (present) {
    changes_.Note(*present);
    const auto before = held_.find(*present);
    before->second.erase(lane);
    if (before->second.empty()) held_.erase(before);
  }
  present = holder;
  if (present) {
    changes_.Note(*present);
    held_[*present].insert(lane);
  }
  Count(lane);
}

void LaneTable::Count(size_t l) {
  Lane& lane = lanes_[l];
  const Share share{
      .done = lane.done,
      .doing = lane.holder && lane.done < lane.tasks ? uint64_t{1} : 0,
      .examples = lane.done_examples + (lane.cursor - lane.done_cursor) * batch_size_,
  };
  sums_.done += share.done - lane.counted.done;
  sums_.doing += share.doing - lane.counted.doing;
  sums_.examples += share.examples - lane.counted.examples;
  lane.counted = share;
}

ReportResult LaneTable::Report(std::span<const TrainerId> trainers, const v1::LeaseReport& report) {
  ReportResult result;
  const std::optional<size_t> found = Find(trainers, GenerationFromProto(report.generation()));
  if (!found) return result;
  result.known = true;
  const size_t l = *found;
  Lane* const lane = &lanes_[l];
  result.work = NameOf(l);
  if (const absl::Status numbers = CheckReport(l, report); !numbers.ok()) {
    SetHolder(l, std::nullopt);
    result.failure = TaskFailure{std::string(numbers.message()), false, ++lane->failures};
    return result;
  }
  TakeInTrained(report, *lane, result);
  lane->cursor = std::max(lane->cursor, report.batches_done());
  Count(l);
  if (report.round() > 0) rounds_ = std::max(rounds_, report.round() - 1);
  for (const v1::LaneTaskDone& done : report.lane_tasks_done()) {
    TakeDone(l, done, result);
    if (done.ordinal() <= lane->done) continue;
    // The tasks before this one were reported to an earlier chief, which ended before it had stored
    // that. The lane is revoked: its next holder reads those tasks again, and reports them.
    SetHolder(l, std::nullopt);
    return result;
  }

  result.held = report.error().empty() && !report.finished() && !report.returned();
  if (result.held) return result;
  SetHolder(l, std::nullopt);
  if (!report.error().empty()) {
    result.failure = TaskFailure{report.error(), report.bad_data(), ++lane->failures};
  } else if (report.finished() && lane->done < lane->tasks) {
    result.failure = TaskFailure{
        absl::StrCat("lane ", l, " ended with ", lane->done, " of ", lane->tasks, " tasks done"),
        false, ++lane->failures};
  } else if (report.finished()) {
    lane->ended = true;
    ++ended_;
  }
  return result;
}

std::optional<WorkName> LaneTable::NameOf(std::span<const TrainerId> trainers,
                                          const Generation& generation) {
  const std::optional<size_t> lane = Find(trainers, generation);
  if (!lane) return std::nullopt;
  return NameOf(*lane);
}

// INVALID_ARGUMENT: numbers that a lane cannot have reached. Its holder knows only a few tasks
// ahead, and contributes one of their batches per round.
absl::Status LaneTable::CheckReport(size_t l, const v1::LeaseReport& report) {
  const Lane& lane = lanes_[l];
  for (const v1::LaneTaskDone& done : report.lane_tasks_done()) {
    if (done.ordinal() < lane.done || done.ordinal() >= lane.tasks) continue;
    CAPSTAN_RETURN_IF_ERROR(
        CheckNumbers(sequence_.task(PlaceOf(l, done.ordinal())), batch_size_, done));
  }
  // For an honest report this examines at most one task.
  const uint64_t most = MostCursor(l, report.batches_done());
  if (report.batches_done() <= most) return CheckRound(l, report);
  return absl::InvalidArgumentError(
      absl::StrCat("a worker reports batch ", report.batches_done(), " of lane ", l, ", which has ",
                   most, " at the most by now; its reports are not to be believed"));
}

// Returns the highest cursor that a lane can have by now, whatever was reported of it. Stops
// examining tasks once the result is at least `asked`.
uint64_t LaneTable::MostCursor(size_t l, uint64_t asked) {
  const Lane& lane = lanes_[l];
  uint64_t most = std::max(lane.cursor, lane.done_cursor);
  const uint64_t end = std::min(lane.tasks, lane.done + 2 * kTasksAhead);
  for (uint64_t ordinal = lane.done; ordinal < end && asked > most; ++ordinal) {
    most += MostBatches(sequence_.task(PlaceOf(l, ordinal)), batch_size_);
  }
  return most;
}

// INVALID_ARGUMENT: the reported round cannot have been reached. A round closes with a batch of at
// least one lane, so there are at most as many closed rounds as batches of all lanes together. The
// chief may not have heard yet what the other lanes have done, so each counts with its highest
// possible cursor. This holds after a return to a checkpoint and for another chief or coordinator
// as well, as rounds and cursors come from the same barrier.
absl::Status LaneTable::CheckRound(size_t l, const v1::LeaseReport& report) {
  if (report.round() <= rounds_ + 1) return absl::OkStatus();
  const uint64_t closed = report.round() - 1;
  // Usually each lane is in each round: then its own batches suffice.
  uint64_t most = rounds_without_batches_ + report.batches_done();
  for (size_t i = 1; i < lanes_.size() && most < closed; ++i) {
    const size_t other = (l + i) % lanes_.size();
    most += MostCursor(other, closed - most);
  }
  if (most < closed) most += MostCursor(l, closed) - report.batches_done();
  if (closed <= most) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("a worker reports that round ", closed, " is closed, of ", most,
                   " that there can be at the most by now; its reports are not to be believed"));
}

void LaneTable::TakeDone(size_t l, const v1::LaneTaskDone& done, ReportResult& result) {
  Lane& lane = lanes_[l];
  // Reports are repeated until they are answered: skips what is known.
  if (done.ordinal() != lane.done || lane.done == lane.tasks) return;
  const Place place = PlaceOf(l, lane.done);
  epochs_.Done(sequence_, place, done.examples());
  ++lane.done;
  lane.done_cursor += done.batches();
  lane.done_examples += done.examples();
  lane.cursor = std::max(lane.cursor, lane.done_cursor);
  lane.failures = 0;
  Count(l);
  v1::StreamClose close;
  close.set_stream(sequence_.StreamOf(place).value);
  close.set_batches(done.batches());
  result.closes.push_back(std::move(close));
  NoteBadRecords(place.epoch, done, result.bad_records);
}

void LaneTable::TakeCursors(const v1::HoldRoundsReply& held) {
  const size_t told = std::min(lanes_.size(), static_cast<size_t>(held.lanes_size()));
  for (size_t l = 0; l < told; ++l) {
    lanes_[l].cursor = std::max(lanes_[l].cursor, held.lanes(static_cast<int>(l)).cursor());
    Count(l);
  }
  rounds_ = held.last().round();  // Even if a worker has reported more.
}

std::optional<WorkName> LaneTable::NameOfAdopted(const v1::LeaseReport& report) const {
  if (report.kind() != v1::LEASE_KIND_LANE || report.lane() >= lanes_.size()) return std::nullopt;
  return NameOf(size_t{report.lane()});
}

ReportResult LaneTable::Adopt(const v1::LeaseReport& report) {
  if (report.kind() != v1::LEASE_KIND_LANE || report.lane() >= lanes_.size()) return {};
  Lane& lane = lanes_[report.lane()];
  if (lane.holder || lane.ended || report.trainer() == 0) return {};
  SetHolder(report.lane(), TrainerId{report.trainer()});
  lane.generation = GenerationFromProto(report.generation());
  lane.examples = report.examples();
  lane.loss_sum = report.loss_sum();
  return Report({&*lane.holder, 1}, report);
}

void LaneTable::Save(v1::TaskProgress& progress) const {
  for (const Lane& lane : lanes_) {
    v1::LaneProgress& saved = *progress.add_lanes();
    saved.set_tasks_done(lane.done);
    saved.set_done_cursor(lane.done_cursor);
    saved.set_done_examples(lane.done_examples);
    saved.set_cursor(lane.cursor);
    saved.set_ended(lane.ended);
    progress.set_done_examples(progress.done_examples() + lane.done_examples);
    progress.set_done_batches(progress.done_batches() + lane.done_cursor);
  }
  epochs_.Save(progress);
}

void LaneTable::Restore(const v1::TaskProgress& progress) {
  std::vector<uint64_t> done(sequence_.epochs(), 0);
  ended_ = 0;
  sums_ = {};
  held_.clear();
  changes_.NoteAll();
  for (size_t l = 0; l < lanes_.size(); ++l) {
    const uint64_t tasks = lanes_[l].tasks;
    lanes_[l] = Lane();
    Lane& lane = lanes_[l];
    lane.tasks = tasks;
    if (l >= static_cast<size_t>(progress.lanes_size())) continue;
    const v1::LaneProgress& saved = progress.lanes(static_cast<int>(l));
    lane.done = std::min(saved.tasks_done(), tasks);
    lane.done_cursor = saved.done_cursor();
    lane.done_examples = saved.done_examples();
    lane.cursor = std::max(saved.cursor(), saved.done_cursor());
    Count(l);
    // The coordinator may know that the lane has ended although the chief does not know of all its
    // tasks: then the end is reported to the chief again.
    lane.ended = saved.ended() && lane.done == tasks;
    if (lane.ended) ++ended_;
    for (uint32_t epoch = 0; epoch < sequence_.epochs(); ++epoch) {
      done[epoch] +=
          std::min(lane.done, TasksUntil(l, epoch + 1)) - std::min(lane.done, TasksUntil(l, epoch));
    }
  }
  rounds_ = progress.steps();
  uint64_t batches = 0;
  for (const Lane& lane : lanes_) batches += lane.cursor;
  rounds_without_batches_ = rounds_ - std::min(rounds_, batches);
  epochs_ = EpochCounter(sequence_);
  const auto visit_done = [this](absl::FunctionRef<void(const Place&)> visit) {
    for (size_t l = 0; l < lanes_.size(); ++l) {
      for (uint64_t ordinal = 0; ordinal < lanes_[l].done; ++ordinal) visit(PlaceOf(l, ordinal));
    }
  };
  epochs_.Restore(sequence_, std::move(done), visit_done, progress);
}

// Returns how many tasks of the lane belong to epochs before `epoch`.
uint64_t LaneTable::TasksUntil(size_t lane, uint32_t epoch) const {
  const uint64_t position = uint64_t{epoch} * sequence_.tasks().size();
  return position <= lane ? 0 : (position - lane - 1) / lanes_.size() + 1;
}

bool LaneTable::IsDone(StreamId stream) {
  const std::optional<uint64_t> position = sequence_.PositionOf(stream);
  return position && *position / lanes_.size() < lanes_[*position % lanes_.size()].done;
}

void LaneTable::Release(TrainerId trainer) {
  const auto held = held_.find(trainer);
  if (held == held_.end()) return;
  for (const size_t lane : std::set<size_t>(held->second)) SetHolder(lane, std::nullopt);
}

void LaneTable::ReleaseAll() {
  for (size_t lane = 0; lane < lanes_.size(); ++lane) SetHolder(lane, std::nullopt);
}

std::vector<v1::Lease> LaneTable::LeasesOf(TrainerId trainer) const {
  std::vector<v1::Lease> leases;
  const auto held = held_.find(trainer);
  if (held == held_.end()) return leases;
  for (const size_t l : held->second) {
    v1::Lease& lease = leases.emplace_back();
    lease.set_kind(v1::LEASE_KIND_LANE);
    ToProto(lanes_[l].generation, *lease.mutable_generation());
    lease.set_trainer(Raw(trainer));
    lease.set_lane(static_cast<uint32_t>(l));
  }
  return leases;
}

void LaneTable::NameTasks(v1::Lease& lease) {
  const Lane& lane = lanes_[lease.lane()];
  const uint64_t end = std::min(lane.tasks, lane.done + kTasksAhead);
  for (uint64_t ordinal = lane.done; ordinal < end; ++ordinal) {
    const Place place = PlaceOf(lease.lane(), ordinal);
    v1::LaneTask& task = *lease.add_lane_tasks();
    *task.mutable_task() = sequence_.task(place);
    task.set_data_epoch(place.epoch);
    task.set_ordinal(ordinal);
    if (ordinal == lane.done) task.set_first_cursor(lane.done_cursor);
  }
  lease.set_lane_tasks_complete(end == lane.tasks);
}

bool LaneTable::Holds(TrainerId trainer) const { return held_.contains(trainer); }

bool LaneTable::NeedsTasks(std::span<const TrainerId> trainers,
                           const v1::LeaseReport& report) const {
  const std::optional<size_t> found = Find(trainers, GenerationFromProto(report.generation()));
  if (!found) return false;
  const Lane& lane = lanes_[*found];
  return report.lane_tasks_known() < std::min(lane.tasks, lane.done + kTasksLow);
}

uint64_t LaneTable::todo() const { return totals().todo; }

WorkTotals LaneTable::totals() const {
  WorkTotals totals;
  totals.steps = rounds_;
  totals.total = sequence_.size();
  totals.epochs_done = epochs_.epochs_done();
  totals.done = sums_.done;
  totals.doing = sums_.doing;
  totals.examples = sums_.examples;
  totals.todo = totals.total - totals.done - totals.doing;
  return totals;
}

std::optional<size_t> LaneTable::Find(std::span<const TrainerId> trainers,
                                      const Generation& generation) const {
  for (const TrainerId trainer : trainers) {
    const auto held = held_.find(trainer);
    if (held == held_.end()) continue;
    for (const size_t lane : held->second) {
      if (lanes_[lane].generation == generation) return lane;
    }
  }
  return std::nullopt;
}

Place LaneTable::PlaceOf(size_t lane, uint64_t ordinal) {
  return sequence_.At(lane + ordinal * lanes_.size());
}

}  // namespace capstan::chief
