#include "tests/simulation/sim/reference.h"

#include "absl/strings/str_cat.h"
#include "capstan/consistency/decisions.h"

namespace capstan::sim {

Reference::Reference(const Job& job) : job_(&job), sets_(1), states_(1) {
  if (!job.sync()) return;
  for (uint32_t lane = 0; lane < job.options().lanes; ++lane) {
    lanes_.push_back(job.LaneBatches(lane));
  }
  cursors_.resize(lanes_.size(), 0);
  for (const NamedBatch& batch : job.AllBatches()) {
    for (const auto& [cell, value] : job.Touched(batch)) states_[0][cell] = value;
  }
}

std::string Reference::CheckSize(const RoundCommit& set) const {
  int with_data = 0;
  for (size_t lane = 0; lane < lanes_.size(); ++lane) {
    with_data += cursors_[lane] < lanes_[lane].size() ? 1 : 0;
  }
  const auto size = static_cast<int>(set.lanes.size());
  const auto backup = static_cast<int>(job_->spec().dense_update().backup_workers());
  if (size <= with_data && size >= ReportsToClose(with_data, backup)) return "";
  return absl::StrCat("RoundSize: round ", set.round, " closes with ", size, " of ", with_data,
                      " lanes that have data");
}

std::string Reference::GoBack(const RoundCommit& last) {
  if (last.round == 0) {
    *this = Reference(*job_);
    return "";
  }
  if (std::string wrong = Close(last); !wrong.empty()) return wrong;
  sets_.resize(last.round + 1);
  states_.resize(last.round + 1);
  cursors_.assign(lanes_.size(), 0);
  for (const RoundCommit& set : sets_) {
    for (const ClosedLane& lane : set.lanes) ++cursors_[static_cast<size_t>(Raw(lane.lane))];
  }
  return "";
}

Cells Reference::Undisturbed(const Job& job) {
  Reference reference(job);
  const uint64_t most = job.options().max_steps;
  while (most == 0 || reference.rounds() < most) {
    RoundCommit set{.round = reference.rounds() + 1};
    for (size_t lane = 0; lane < reference.lanes_.size(); ++lane) {
      if (reference.cursors_[lane] == reference.lanes_[lane].size()) continue;
      set.lanes.push_back({.lane = static_cast<LaneIndex>(lane)});
    }
    if (set.lanes.empty()) break;
    (void)reference.Close(set);
  }
  return reference.states_.back();
}

std::string Reference::Close(const RoundCommit& set) {
  if (set.round < sets_.size()) {
    if (sets_[set.round] == set) return "";
    return absl::StrCat("OneSet: round ", set.round, " is closed with two sets");
  }
  if (set.round > sets_.size()) {
    return absl::StrCat("round ", set.round, " is heard of before the one before it");
  }
  if (std::string wrong = CheckSize(set); !wrong.empty()) return wrong;
  const Cells& before = states_.back();
  Cells after = before;
  for (const ClosedLane& lane : set.lanes) {
    const auto index = static_cast<size_t>(Raw(lane.lane));
    if (cursors_[index] >= lanes_[index].size()) {
      return absl::StrCat("RoundSize: lane ", index, " is counted without data");
    }
    const NamedBatch& batch = lanes_[index][cursors_[index]++];
    Cells pulled = job_->Touched(batch);
    for (auto& [cell, value] : pulled) value = before.at(cell);
    for (const auto& [cell, gradient] : job_->Gradient(batch, pulled)) after[cell] -= gradient;
  }
  sets_.push_back(set);
  states_.push_back(std::move(after));
  return "";
}

}  // namespace capstan::sim
