#include "worker/machines/read_ahead.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace capstan::worker {

uint64_t ReadAhead::Lease::Distance() const {
  return waiting.front().batch - std::min(at, waiting.front().batch);
}

void ReadAhead::Join(const void* who, Read read) { leases_[who].read = std::move(read); }

void ReadAhead::Leave(const void* who) {
  Lease* const lease = Find(who);
  if (lease == nullptr) return;
  Drop(*lease, lease->ahead.begin(), lease->ahead.end());
  leases_.erase(who);
  BeginNext();
}

void ReadAhead::Ask(const void* who, uint64_t batch) {
  Lease* const lease = Find(who);
  if (lease == nullptr) return;
  lease->waiting.push_back({batch, ++questions_});
  BeginNext();
}

void ReadAhead::Reach(const void* who, uint64_t batch) {
  Lease* const lease = Find(who);
  if (lease == nullptr) return;
  lease->at = std::max(lease->at, batch);
  Drop(*lease, lease->ahead.begin(), lease->ahead.upper_bound(lease->at));
  BeginNext();
}

void ReadAhead::OnRead(const void* who, uint64_t batch, uint64_t bytes) {
  Lease* const lease = Find(who);
  if (lease == nullptr) return;
  largest_ = std::max(largest_.value_or(0), bytes);
  if (const auto found = lease->ahead.find(batch); found != lease->ahead.end()) {
    bytes_ += bytes - found->second;  // Unsigned: the sum is right where the difference is not.
    found->second = bytes;
  }
  BeginNext();
}

void ReadAhead::OnEnd(const void* who, uint64_t batches) {
  Lease* const lease = Find(who);
  if (lease == nullptr) return;
  Drop(*lease, lease->ahead.lower_bound(batches), lease->ahead.end());
  BeginNext();
}

ReadAhead::Lease* ReadAhead::Find(const void* who) {
  const auto found = leases_.find(who);
  return found == leases_.end() ? nullptr : &found->second;
}

void ReadAhead::Drop(Lease& lease, Ahead::iterator begin, Ahead::iterator end) {
  for (auto batch = begin; batch != end; ++batch) {
    bytes_ -= batch->second;
    --batches_;
  }
  lease.ahead.erase(begin, end);
}

// Returns the lease whose next batch may be read now and is needed soonest; null: there is none.
ReadAhead::Lease* ReadAhead::Next() {
  const bool ahead = largest_ && batches_ < limits_.batches && bytes_ < limits_.bytes;
  const auto turn = [](const Lease& lease) {
    return std::tuple(lease.Distance(), lease.waiting.front().question);
  };
  Lease* next = nullptr;
  for (auto& [who, lease] : leases_) {
    if (lease.waiting.empty() || (lease.Distance() > 0 && !ahead)) continue;
    if (next == nullptr || turn(lease) < turn(*next)) next = &lease;
  }
  return next;
}

// A read that is answered at once calls this function again, which then returns: the loop of the
// outer call goes on with the next.
void ReadAhead::BeginNext() {
  if (std::exchange(beginning_, true)) return;
  while (Lease* const next = Next()) {
    const uint64_t batch = next->waiting.front().batch;
    next->waiting.pop_front();
    if (batch > next->at) {
      next->ahead[batch] = *largest_;
      bytes_ += *largest_;
      ++batches_;
    }
    const Read read = next->read;  // The lease may leave meanwhile.
    read(batch);
  }
  beginning_ = false;
}

}  // namespace capstan::worker
