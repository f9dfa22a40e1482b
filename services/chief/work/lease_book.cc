#include "chief/work/lease_book.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "capstan/base/check.h"
#include "capstan/consistency/generation.h"

namespace capstan::chief {
namespace {

auto OfGeneration(const Generation& generation) {
  return [generation](const HeldLease& held) {
    return GenerationFromProto(held.lease.generation()) == generation;
  };
}

}  // namespace

void LeaseBook::Add(v1::Lease lease) {
  std::vector<HeldLease>& leases = held_[TrainerId{lease.trainer()}];
  HeldLease held;
  held.batches_done = lease.first_batch();
  held.lease = std::move(lease);
  leases.push_back(std::move(held));
  ++size_;
}

HeldLease* LeaseBook::Find(std::span<const TrainerId> trainers, const Generation& generation) {
  for (TrainerId trainer : trainers) {
    const auto leases = held_.find(trainer);
    if (leases == held_.end()) continue;
    const auto held =
        std::find_if(leases->second.begin(), leases->second.end(), OfGeneration(generation));
    if (held != leases->second.end()) return &*held;
  }
  return nullptr;
}

HeldLease LeaseBook::Remove(TrainerId trainer, const Generation& generation) {
  std::vector<HeldLease>& leases = held_[trainer];
  const auto held = std::find_if(leases.begin(), leases.end(), OfGeneration(generation));
  CAPSTAN_CHECK(held != leases.end());
  HeldLease removed = std::move(*held);
  leases.erase(held);
  if (leases.empty()) held_.erase(trainer);
  --size_;
  return removed;
}

std::vector<HeldLease> LeaseBook::RemoveAll(TrainerId trainer) {
  const auto leases = held_.find(trainer);
  if (leases == held_.end()) return {};
  std::vector<HeldLease> removed = std::move(leases->second);
  held_.erase(leases);
  size_ -= removed.size();
  return removed;
}

std::vector<HeldLease> LeaseBook::Clear() {
  std::vector<TrainerId> trainers;
  trainers.reserve(held_.size());
  for (const auto& [trainer, leases] : held_) trainers.push_back(trainer);
  std::sort(trainers.begin(), trainers.end());
  std::vector<HeldLease> removed;
  removed.reserve(size_);
  for (TrainerId trainer : trainers)
    std::ranges::move(RemoveAll(trainer), std::back_inserter(removed));
  return removed;
}

std::span<const HeldLease> LeaseBook::Of(TrainerId trainer) const {
  const auto leases = held_.find(trainer);
  if (leases == held_.end()) return {};
  return leases->second;
}

}  // namespace capstan::chief
