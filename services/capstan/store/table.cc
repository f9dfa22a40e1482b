#include "capstan/store/table.h"

#include <algorithm>
#include <cstring>

#include "capstan/base/check.h"
#include "capstan/base/prefetch.h"
#include "capstan/base/status.h"
#include "capstan/consistency/decisions.h"
#include "capstan/optim/schedule.h"
#include "capstan/store/initializer.h"

namespace capstan {
namespace {

// How many keys' index entries are prefetched together.
constexpr size_t kBatch = 64;

// How many rows are prefetched ahead of their use. An update accesses more of a row than a lookup,
// and a core can only have a limited number of outstanding cache lines.
constexpr size_t kRowsAhead = 16;
constexpr size_t kUpdatesAhead = 4;

// If the rows of an update take at most this much, a part of the second-level cache, they are
// prefetched completely while they are looked up. In a larger update only their keys are, and each
// row is prefetched again shortly before it is updated.
constexpr size_t kNearBytes = 256 * 1024;

constexpr size_t kMinCandidates = 4096;

}  // namespace

void Table::Pull(PackedKeys keys, void* values, void* versions) const {
  CAPSTAN_CHECK(versions == nullptr || counts_updates());
  char* const out = static_cast<char*>(values);
  const auto tell = [versions](size_t i, RowVersion version) {
    if (versions == nullptr) return;
    std::memcpy(static_cast<char*>(versions) + i * sizeof(version), &version, sizeof(version));
  };
  const size_t bytes = dim() * sizeof(float);
  ForEachFound(
      keys.size(), [&keys](size_t i) { return keys[i]; }, sizeof(uint64_t) + bytes,
      [&](size_t i, uint32_t row) {
        if (row == kMissing || Expired(row)) {
          FillInitialRow(keys[i], out + i * bytes);
          tell(i, RowVersion::kNoRow);
        } else {
          std::memcpy(out + i * bytes, slabs_.at(row).state(), bytes);
          if (versions != nullptr) tell(i, updates_->of(row));
        }
      });
}

// Calls found(i, row) for each key, in order. The key's index entry and the first `bytes` of its
// row are prefetched some keys ahead, so that cache misses overlap.
template <typename KeyAt, typename Found>
void Table::ForEachFound(size_t count, const KeyAt& key_at, size_t bytes,
                         const Found& found) const {
  uint32_t tags[kBatch];
  uint32_t rows[kBatch];
  for (size_t begin = 0; begin < count; begin += kBatch) {
    const size_t batch = std::min(kBatch, count - begin);
    for (size_t i = 0; i < batch; ++i) {
      tags[i] = index_.TagOf(key_at(begin + i));
      index_.Prefetch(tags[i]);
    }
    for (size_t i = 0; i < batch + kRowsAhead; ++i) {
      if (i < batch) {
        rows[i] = index_.FirstCandidate(tags[i]);
        if (rows[i] != kMissing) slabs_.Prefetch(rows[i], bytes);
        if (rows[i] != kMissing && updates_) updates_->Prefetch(rows[i]);
      }
      if (i < kRowsAhead) continue;
      const size_t at = i - kRowsAhead;
      const uint64_t key = key_at(begin + at);
      const bool hit = rows[at] == kMissing || slabs_.at(rows[at]).key() == key;
      found(begin + at, hit ? rows[at] : FindRow(key, tags[at]));
    }
  }
}

void Table::AskForIndex(PackedKeys keys, RowUse use) const {
  slabs_.PrefetchPlaces();
  if (use == RowUse::kApply) {
    Prefetch(optimizer_.get(), kCacheLine);
    Prefetch(segments_.data(), sizeof(Segment));
  }
  for (size_t i = 0; i < keys.size(); ++i) index_.Prefetch(index_.TagOf(keys[i]));
}

void Table::AskForRows(PackedKeys keys, RowUse use) const {
  const size_t bytes =
      use == RowUse::kApply ? row_bytes() : sizeof(uint64_t) + dim() * sizeof(float);
  for (size_t i = 0; i < keys.size(); ++i) {
    const uint32_t row = index_.FirstCandidate(index_.TagOf(keys[i]));
    if (row == kMissing) continue;
    slabs_.Prefetch(row, bytes);
    if (updates_) updates_->Prefetch(row);
    if (use == RowUse::kApply) changes_.Prefetch(row);
  }
}

Table::Work& Table::WorkOfThread() {
  thread_local Work work;
  return work;
}

bool Table::Apply(absl::Span<const RowGradients> gradients, const UpdateContext& context) {
  for (const RowGradients& gradient : gradients) {
    CAPSTAN_CHECK(gradient.values.size() == gradient.keys.size() * dim());
    CAPSTAN_CHECK(gradient.pulled.empty() || gradient.pulled.size() == gradient.values.size());
    CAPSTAN_CHECK(gradient.versions.empty() || gradient.versions.size() == gradient.keys.size());
  }
  work_ = &WorkOfThread();
  progress_examples_ = std::max(progress_examples_, context.progress_examples);
  AdvanceClock();
  work_->groups.Build(gradients);
  FindRows();
  if (EraseExpired()) FindRows();
  if (!row_staleness_.empty) row_staleness_ = {};
  if (context.row_policy != nullptr && !WeighRows(*context.row_policy)) return false;
  const size_t admitted = AdmitNew();
  if (counted_rows() + admitted > max_rows_) {
    EvictFor(admitted);
  } else if (index_.size() + admitted > max_rows_) {
    SweepFor(admitted);
  }

  // A constant rate is kept here, because the specification of schedules is elsewhere in memory.
  const float rate =
      rate_is_constant_ ? constant_rate_ : LearningRate(spec_.optimizer(), progress_examples_);
  const bool near = RowsAreNear();
  for (size_t group = 0; group < work_->groups.size(); ++group) {
    if (!near && group + kUpdatesAhead < work_->groups.size()) {
      const uint32_t ahead = work_->found[group + kUpdatesAhead];
      if (ahead < kNew) slabs_.Prefetch(ahead, row_bytes());
    }
    UpdateRow(group, context, rate);
  }
  SweepSome(2 * work_->groups.size());
  return true;
}

// Weighs rows by how often each was updated since it was pulled. Returns false if nothing is left.
bool Table::WeighRows(const v1::UpdatePolicy& policy) {
  CAPSTAN_CHECK(counts_updates());
  uint64_t dropped = 0;
  work_->groups.WeighRows([&](size_t group, RowVersion pulled) {
    const uint32_t row = work_->found[group];
    const uint64_t staleness =
        UpdatesSince(pulled, row == kMissing ? RowVersion::kNoRow : updates_->of(row));
    const StaleDecision decision = DecideStale(policy, staleness);
    if (decision.drop) {
      ++dropped;
      return 0.0f;
    }
    row_staleness_.Add(staleness);
    return static_cast<float>(decision.weight);
  });
  counters_.stale += dropped;
  if (dropped == 0) return true;
  for (size_t group = 0; group < work_->groups.size(); ++group) {
    if (work_->groups.GradientsWith(group) > 0) return true;
  }
  return false;
}

uint32_t Table::FindRow(uint64_t key, uint32_t tag) const {
  return index_.Find(tag, [this, key](uint32_t row) { return slabs_.at(row).key() == key; });
}

bool Table::RowsAreNear() const { return work_->groups.size() * row_bytes() <= kNearBytes; }

void Table::FindRows() {
  work_->found.resize(work_->groups.size());
  ForEachFound(
      work_->groups.size(), [this](size_t group) { return work_->groups.key(group); },
      RowsAreNear() ? row_bytes() : sizeof(uint64_t),
      [this](size_t group, uint32_t row) {
        work_->found[group] = row;
        if (row == kMissing) return;
        changes_.Prefetch(row);
        if (updates_) updates_->Prefetch(row);
      });
}

// Erases those of the found rows that have expired but are not swept yet: for an update they do not
// exist. Returns true if there were any.
bool Table::EraseExpired() {
  if (spec_.expire_after_examples() == 0) return false;
  const auto expired = [this](uint32_t row) { return row != kMissing && Expired(row); };
  if (std::none_of(work_->found.begin(), work_->found.end(), expired)) return false;
  for (size_t group = 0; group < work_->groups.size(); ++group) {
    const uint32_t row = FindRow(work_->groups.key(group), index_.TagOf(work_->groups.key(group)));
    if (!expired(row)) continue;
    Erase(row);
    ++counters_.expired;
  }
  return true;
}

// Marks the keys that will get a row with kNew, and returns their number.
size_t Table::AdmitNew() {
  size_t admitted = 0;
  const size_t max_candidates =
      std::max({kMinCandidates, counted_rows(), 2 * work_->groups.size()});
  for (size_t group = 0; group < work_->groups.size(); ++group) {
    if (work_->found[group] != kMissing) continue;
    const uint32_t times = work_->groups.GradientsWith(group);
    if (times == 0) continue;
    if (admission_.Admit(work_->groups.key(group), times, max_candidates)) {
      work_->found[group] = kNew;
      ++admitted;
    } else {
      counters_.not_admitted += times;
    }
  }
  return admitted;
}

// Finds the rows of this update again after rows have moved. None of them is gone.
void Table::FindRowsAgain() {
  for (size_t group = 0; group < work_->groups.size(); ++group) {
    if (work_->found[group] >= kNew) continue;
    work_->found[group] = FindRow(work_->groups.key(group), index_.TagOf(work_->groups.key(group)));
  }
}

void Table::UpdateRow(size_t group, const UpdateContext& context, float rate) {
  if (work_->found[group] == kMissing) return;
  const uint32_t times = work_->groups.GradientsWith(group);
  if (times == 0) return;
  if (work_->found[group] == kNew) {
    if (index_.size() >= max_rows_) {
      counters_.refused += times;
      return;
    }
    work_->found[group] = CreateRow(work_->groups.key(group));
  }
  ++counters_.updated;
  if (updates_) updates_->Count(work_->found[group]);
  Touch(work_->found[group], times);
  const RowSlabs::Row row = slabs_.at(work_->found[group]);
  const void* gradient = work_->groups.Sum(group, row.state(), dim(), context);
  for (const Segment& segment : segments_) {
    optimizer_->Apply(segment.In(row.state()),
                      static_cast<const char*>(gradient) + segment.offset * sizeof(float),
                      rate * segment.learning_rate_scale);
  }
}

void Table::Touch(uint32_t row, uint32_t times) {
  if (mark_ != nullptr) KeepImage(row);
  const RowSlabs::Row at = slabs_.at(row);
  hot_.Remove(at.frequency(), changes_.of(row));
  changes_.SetFresh(row);
  at.frequency() += std::min(times, UINT32_MAX - at.frequency());
  hot_.Add(at.frequency(), RowChange::kFresh);
  const uint32_t now = Now();
  epochs_.Move(at.touched(), now);
  at.touched() = now;
}

void Table::FillInitialRow(uint64_t key, void* weights) const {
  for (const Segment& segment : segments_) {
    FillInitial(segment.initializer, {spec_.seed(), key, segment.offset},
                static_cast<char*>(weights) + segment.offset * sizeof(float), segment.width);
  }
}

uint32_t Table::CreateRow(uint64_t key) {
  const uint32_t number = AppendRow();
  changes_.SetFresh(number);
  const RowSlabs::Row row = slabs_.at(number);
  row.key() = key;
  row.frequency() = 0;
  row.touched() = Now();
  epochs_.Add(row.touched());
  erased_.Remove(key);
  FillInitialRow(key, row.state());
  InitializeSlots(row);
  index_.Insert(index_.TagOf(key), number);
  ++counters_.created;
  return number;
}

uint32_t Table::AppendRow() {
  changes_.Append();
  if (updates_) updates_->Append();
  return slabs_.Append();
}

void Table::Erase(uint32_t row) {
  if (mark_ != nullptr) KeepImage(row);
  hot_.Remove(slabs_.at(row).frequency(), changes_.of(row));
  epochs_.Remove(slabs_.at(row).touched());
  changes_.Remove(row);
  if (updates_) updates_->Remove(row);
  erased_.Add(slabs_.at(row).key(), index_.size());
  index_.Erase(index_.TagOf(slabs_.at(row).key()), row);
  const uint32_t moved = slabs_.Remove(row);
  if (moved != row) index_.Renumber(index_.TagOf(slabs_.at(row).key()), moved, row);
}

// The base does not move while there is a mark, because the images of rows contain times that count
// from the base at which they were made.
void Table::AdvanceClock() {
  if (mark_ != nullptr) return;
  const uint64_t moved = clock_.Advance(progress_examples_);
  for (uint32_t i = 0; moved > 0 && i < slabs_.size(); ++i) {
    uint32_t& touched = slabs_.at(i).touched();
    const auto less = static_cast<uint32_t>(touched - std::min<uint64_t>(touched, moved));
    epochs_.Move(touched, less);
    touched = less;
  }
}

bool Table::Expired(uint32_t row) const {
  return clock_.expiry() != 0 && Now() > slabs_.at(row).touched() + clock_.expiry();
}

size_t Table::memory_bytes() const {
  return kept_bytes() + slabs_.memory_bytes() + changes_.memory_bytes() + index_.memory_bytes() +
         admission_.memory_bytes() + (updates_ ? updates_->memory_bytes() : 0);
}

}  // namespace capstan
