#include "chief/work/work.h"

#include <utility>

#include "capstan/consistency/job_lanes.h"

namespace capstan::chief {
namespace {

std::variant<TaskQueue, LaneTable> NewWork(const JobPlan& plan, TaskSequence sequence) {
  const v1::TrainSpec& train = plan.spec.train();
  if (!UsesLanes(plan.spec)) return TaskQueue(std::move(sequence), train.batch_size());
  return LaneTable(std::move(sequence), LaneCount(plan.spec), train.batch_size());
}

}  // namespace

TaskSequence SequenceOf(const JobPlan& plan) {
  return {{.seed = plan.spec.seed(),
           .shuffle = plan.spec.data().shuffle(),
           .epochs = plan.spec.train().epochs(),
           .numbered_in_order = plan.spec.data().numbered_in_order()},
          TaskMix(plan.train, plan.spec.data(), plan.spec.seed())};
}

uint64_t TasksFingerprint(const JobPlan& plan) {
  const TaskSequence sequence = SequenceOf(plan);
  return sequence.fingerprint();
}

Work::Work(const JobPlan& plan) : Work(plan, SequenceOf(plan)) {}

Work::Work(const JobPlan& plan, TaskSequence sequence)
    : fingerprint_(sequence.fingerprint()), work_(NewWork(plan, std::move(sequence))) {}

ReportResult Work::Report(std::span<const TrainerId> trainers, const v1::LeaseReport& report) {
  return std::visit([&](auto& work) { return work.Report(trainers, report); }, work_);
}

ReportResult Work::Adopt(const v1::LeaseReport& report) {
  return std::visit([&](auto& work) { return work.Adopt(report); }, work_);
}

void Work::AdoptOnlyBegun() {
  if (auto* const tasks = std::get_if<TaskQueue>(&work_)) tasks->AdoptOnlyBegun();
}

std::optional<WorkName> Work::NameOf(std::span<const TrainerId> trainers,
                                     const Generation& generation) {
  return std::visit([&](auto& work) { return work.NameOf(trainers, generation); }, work_);
}

std::optional<WorkName> Work::NameOfAdopted(const v1::LeaseReport& report) const {
  return std::visit([&](const auto& work) { return work.NameOfAdopted(report); }, work_);
}

void Work::Save(v1::TaskProgress& progress) const {
  progress.set_tasks_fingerprint(fingerprint_);
  std::visit([&](const auto& work) { work.Save(progress); }, work_);
}

void Work::Restore(const v1::TaskProgress& progress) {
  std::visit([&](auto& work) { work.Restore(progress); }, work_);
}

bool Work::IsDone(StreamId stream) {
  return std::visit([&](auto& work) { return work.IsDone(stream); }, work_);
}

void Work::Release(TrainerId trainer) {
  std::visit([trainer](auto& work) { work.Release(trainer); }, work_);
}

void Work::ReleaseAll() {
  std::visit([](auto& work) { work.ReleaseAll(); }, work_);
}

std::vector<v1::Lease> Work::LeasesOf(TrainerId trainer) const {
  if (const auto* table = std::get_if<LaneTable>(&work_)) return table->LeasesOf(trainer);
  std::vector<v1::Lease> leases;
  for (const HeldLease& held : std::get<TaskQueue>(work_).LeasesOf(trainer)) {
    leases.push_back(held.lease);
  }
  return leases;
}

bool Work::Holds(TrainerId trainer) const {
  if (const auto* table = std::get_if<LaneTable>(&work_)) return table->Holds(trainer);
  return !std::get<TaskQueue>(work_).LeasesOf(trainer).empty();
}

HolderChanges& Work::changes() {
  return std::visit([](auto& work) -> HolderChanges& { return work.changes(); }, work_);
}

bool Work::all_done() const {
  return std::visit([](const auto& work) { return work.all_done(); }, work_);
}

WorkTotals Work::totals() const {
  return std::visit([](const auto& work) { return work.totals(); }, work_);
}

uint64_t Work::ExpectedExamples() const {
  return std::visit([](const auto& work) { return work.epochs().ExpectedExamples(); }, work_);
}

bool Work::counted() const {
  return std::visit([](const auto& work) { return work.epochs().counted(); }, work_);
}

uint64_t Work::batches_a_step() const {
  const auto* table = std::get_if<LaneTable>(&work_);
  return table != nullptr ? table->lanes() : 1;
}

}  // namespace capstan::chief
