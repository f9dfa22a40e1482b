// The member functions of Table for marking, reading what was marked, and recording what has
// changed since.
#include "capstan/store/table_mark.h"

#include <algorithm>

#include "capstan/base/check.h"
#include "capstan/store/table.h"

namespace capstan {
namespace {

// How many rows are prefetched ahead of their use.
constexpr size_t kPlacesAhead = 8;

}  // namespace

void Table::Mark(bool changes_only) {
  CAPSTAN_CHECK(mark_ == nullptr && (!changes_only || changes_known()));
  changes_.Mark();
  hot_.Mark();
  mark_ = std::make_unique<TableMark>(slabs_.row_bytes());
  mark_->changes_only = changes_only;
  mark_->rows = index_.size();
  mark_->progress_examples = progress_examples_;
  mark_->candidates = admission_.InNoOrder();
  erased_.Mark();
  if (changes_only) mark_->erased.assign(erased_.marked().begin(), erased_.marked().end());
}

void Table::Unmark() { mark_.reset(); }

void Table::SettleMark(bool safe) {
  Unmark();
  changes_.Settle(safe);
  hot_.Settle(safe);
  erased_.Settle(safe, index_.size(), [this](uint64_t key) {
    return FindRow(key, index_.TagOf(key)) == RowIndex::kNone;
  });
}

void Table::KeepImage(uint32_t row) {
  const RowChange change = changes_.of(row);
  if (change == RowChange::kFresh) return;  // The row has an image, or did not exist at the mark.
  if (mark_->changes_only && change != RowChange::kMarked) return;
  const RowSlabs::Row at = slabs_.at(row);
  if (mark_->begun && at.key() <= mark_->done_key) return;
  mark_->images.Add(at.key(), at.bytes());
}

std::vector<RowPlace> Table::MarkedRows() {
  CAPSTAN_CHECK(mark_ != nullptr);
  std::vector<RowPlace> places;
  if (!mark_->changes_only) places.reserve(mark_->rows);
  changes_.ForEachKept(mark_->changes_only,
                       [&places](uint32_t row) { places.push_back({.row = row}); });
  for (size_t i = 0; i < places.size(); ++i) {
    if (i + kPlacesAhead < places.size()) {
      slabs_.Prefetch(places[i + kPlacesAhead].row, sizeof(uint64_t));
    }
    places[i].key = slabs_.at(places[i].row).key();
  }
  mark_->images.ForEachKey([&](uint64_t key) { places.push_back({key, RowIndex::kNone}); });
  return places;
}

void Table::VisitMarked(absl::Span<const RowPlace> places,
                        absl::FunctionRef<void(const RowState&)> visit) {
  for (size_t i = 0; i < places.size(); ++i) {
    if (i + kPlacesAhead < places.size() && places[i + kPlacesAhead].row < slabs_.size()) {
      slabs_.Prefetch(places[i + kPlacesAhead].row, row_bytes());
    }
    char* const image = mark_->images.Find(places[i].key);
    visit(StateOf(image != nullptr ? slabs_.Over(image) : FindMarked(places[i])));
  }
  if (places.empty()) return;
  mark_->begun = true;
  mark_->done_key = places.back().key;
}

// Returns a row that has not changed since the mark, but may have moved.
RowSlabs::Row Table::FindMarked(const RowPlace& place) const {
  if (place.row < slabs_.size() && slabs_.at(place.row).key() == place.key) {
    return slabs_.at(place.row);
  }
  const uint32_t found = FindRow(place.key, index_.TagOf(place.key));
  CAPSTAN_CHECK(found != RowIndex::kNone);
  return slabs_.at(found);
}

}  // namespace capstan
