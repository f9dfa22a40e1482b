// The member functions of Table for creating, checking, saving and restoring.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "capstan/base/check.h"
#include "capstan/base/status.h"
#include "capstan/optim/schedule.h"
#include "capstan/store/initializer.h"
#include "capstan/store/table.h"

namespace capstan {
namespace {

constexpr uint32_t kMaxDim = 1 << 20;

absl::Status Refuse(const v1::TableSpec& spec, const std::string& why) {
  return absl::InvalidArgumentError(absl::StrCat("table ", spec.name(), ": ", why));
}

absl::Status CheckSegments(const v1::TableSpec& spec) {
  uint64_t end = 0;
  for (const v1::TableSegment& segment : spec.segments()) {
    if (segment.offset() != end || segment.width() == 0) {
      return Refuse(
          spec, absl::StrCat("segment ", segment.name(), " is columns [", segment.offset(), ", +",
                             segment.width(), "), expected to begin at ", end));
    }
    if (!(std::isfinite(segment.learning_rate_scale()) && segment.learning_rate_scale() >= 0)) {
      return Refuse(spec, absl::StrCat("segment ", segment.name(), ": learning_rate_scale is ",
                                       segment.learning_rate_scale()));
    }
    CAPSTAN_RETURN_IF_ERROR(CheckInitializer(segment.initializer()));
    end += segment.width();
  }
  if (end == spec.dim()) return absl::OkStatus();
  return Refuse(spec, absl::StrCat("segments have ", end, " columns, dim is ", spec.dim()));
}

}  // namespace

absl::StatusOr<std::unique_ptr<Table>> Table::Create(const v1::TableSpec& spec,
                                                     uint32_t partition_count, SlabArena* arena,
                                                     size_t least_erased) {
  if (spec.dim() == 0 || spec.dim() > kMaxDim) {
    return Refuse(spec, absl::StrCat("dim is ", spec.dim(), ", expected 1 to ", kMaxDim));
  }
  if (partition_count == 0) return Refuse(spec, "partition_count is 0");
  CAPSTAN_RETURN_IF_ERROR(CheckSegments(spec));
  CAPSTAN_ASSIGN_OR_RETURN(std::unique_ptr<Optimizer> optimizer, MakeOptimizer(spec.optimizer()));
  std::unique_ptr<Table> table(new Table(spec, std::move(optimizer), arena, least_erased));
  if (spec.byte_budget() == 0) return table;
  const uint64_t budget = spec.byte_budget() / partition_count;
  table->max_rows_ = std::min<uint64_t>(table->max_rows_,
                                        budget / (table->row_bytes() + RowIndex::kMaxBytesPerRow));
  if (table->max_rows_ > 0) return table;
  return Refuse(spec, absl::StrCat("byte_budget ", spec.byte_budget(), " holds no row in each of ",
                                   partition_count, " partitions"));
}

Table::Table(const v1::TableSpec& spec, std::unique_ptr<Optimizer> optimizer, SlabArena* arena,
             size_t least_erased)
    : spec_(spec),
      optimizer_(std::move(optimizer)),
      segments_(SegmentsOf(spec, *optimizer_)),
      slot_count_(segments_.back().slot_end - spec.dim()),
      rate_is_constant_(IsConstant(spec.optimizer().schedule())),
      constant_rate_(LearningRate(spec.optimizer(), /*examples=*/0)),
      clock_(spec.expire_after_examples()),
      index_(spec.seed()),
      slabs_(segments_.back().slot_end, arena),
      epochs_(clock_.expiry()),
      admission_(spec.admission_count()),
      erased_(least_erased) {}

void Table::CountUpdates() {
  CAPSTAN_CHECK(row_count() == 0);
  updates_.emplace();
}

std::vector<Table::Segment> Table::SegmentsOf(const v1::TableSpec& spec,
                                              const Optimizer& optimizer) {
  std::vector<Segment> segments;
  size_t slots = spec.dim();
  for (const v1::TableSegment& segment : spec.segments()) {
    const size_t slot_offset = slots;
    slots += optimizer.SlotCount(segment.width());
    segments.push_back({.initializer = segment.initializer(),
                        .offset = segment.offset(),
                        .width = segment.width(),
                        .slot_offset = slot_offset,
                        .slot_end = slots,
                        .learning_rate_scale = segment.learning_rate_scale()});
  }
  return segments;
}

void Table::ForEachRow(absl::FunctionRef<void(const RowState&)> visit) const {
  std::vector<std::pair<uint64_t, uint32_t>> order;
  order.reserve(slabs_.size());
  for (uint32_t i = 0; i < slabs_.size(); ++i) order.emplace_back(slabs_.at(i).key(), i);
  std::sort(order.begin(), order.end());
  for (const auto& [key, number] : order) visit(StateOf(slabs_.at(number)));
}

RowState Table::StateOf(const RowSlabs::Row& row) const {
  return {.key = row.key(),
          .frequency = row.frequency(),
          .touched_examples = clock_.ExamplesAt(row.touched()),
          .state = absl::MakeConstSpan(row.state(), dim() + slot_count_)};
}

void Table::ForEachCandidate(absl::FunctionRef<void(const Candidate&)> visit) const {
  for (const Candidate& candidate : admission_.InOrderOfKeys()) visit(candidate);
}

absl::Status Table::CheckWidth(const RowState& state) const {
  if (state.state.size() == dim() + slot_count_) return absl::OkStatus();
  return Refuse(spec_, absl::StrCat("row ", state.key, " has ", state.state.size(),
                                    " floats of state, expected ", dim() + slot_count_));
}

// Writes a restored row, which is as in the copy, and therefore unchanged.
void Table::Write(uint32_t number, const RowState& state) {
  const RowSlabs::Row row = slabs_.at(number);
  row.key() = state.key;
  row.frequency() = state.frequency;
  changes_.SetSaved(number);
  hot_.Add(row.frequency(), RowChange::kSaved);
  row.touched() = clock_.TimeAt(state.touched_examples);
  epochs_.Add(row.touched());
  std::memcpy(row.state(), state.state.data(), state.state.size() * sizeof(float));
  if (updates_ && state.version != RowVersion::kNoRow) updates_->Restore(number, state.version);
}

RowVersion Table::VersionOf(uint64_t key) const {
  const uint32_t number = FindRow(key, index_.TagOf(key));
  return number == RowIndex::kNone ? RowVersion::kNoRow : updates_->of(number);
}

absl::Status Table::RestoreRow(const RowState& state) {
  CAPSTAN_RETURN_IF_ERROR(CheckWidth(state));
  const uint32_t tag = index_.TagOf(state.key);
  if (FindRow(state.key, tag) != RowIndex::kNone || admission_.contains(state.key)) {
    return absl::AlreadyExistsError(
        absl::StrCat("table ", spec_.name(), ": key ", state.key, " occurs twice"));
  }
  const uint32_t number = AppendRow();
  Write(number, state);
  index_.Insert(tag, number);
  return absl::OkStatus();
}

absl::Status Table::RestoreWeights(const RowState& state) {
  std::vector<float> weights(dim() + slot_count_);
  std::copy_n(state.state.begin(), std::min(state.state.size(), dim()), weights.begin());
  RowState row = state;
  row.state = weights;
  CAPSTAN_RETURN_IF_ERROR(RestoreRow(row));
  InitializeSlots(slabs_.at(slabs_.size() - 1));
  return absl::OkStatus();
}

void Table::InitializeSlots(const RowSlabs::Row& row) {
  for (const Segment& segment : segments_) {
    optimizer_->Initialize(segment.In(row.state()),
                           spec_.optimizer().learning_rate() * segment.learning_rate_scale);
  }
}

absl::Status Table::RestoreChangedRow(const RowState& state) {
  const uint32_t number = FindRow(state.key, index_.TagOf(state.key));
  if (number == RowIndex::kNone) return RestoreRow(state);
  CAPSTAN_RETURN_IF_ERROR(CheckWidth(state));
  hot_.Remove(slabs_.at(number).frequency(), changes_.of(number));
  epochs_.Remove(slabs_.at(number).touched());
  Write(number, state);
  return absl::OkStatus();
}

void Table::RestoreErased(uint64_t key) {
  const uint32_t number = FindRow(key, index_.TagOf(key));
  if (number != RowIndex::kNone) Erase(number);
}

void Table::RestartProgress() {
  EraseAllExpired();
  progress_examples_ = 0;
  clock_.Restart();
  for (uint32_t i = 0; i < slabs_.size(); ++i) {
    epochs_.Move(slabs_.at(i).touched(), 0);
    slabs_.at(i).touched() = 0;
  }
}

absl::Status Table::RestoreCandidate(const Candidate& candidate) {
  if (FindRow(candidate.key, index_.TagOf(candidate.key)) != RowIndex::kNone ||
      admission_.contains(candidate.key)) {
    return absl::AlreadyExistsError(
        absl::StrCat("table ", spec_.name(), ": key ", candidate.key, " occurs twice"));
  }
  admission_.Restore(candidate);
  return absl::OkStatus();
}

}  // namespace capstan
