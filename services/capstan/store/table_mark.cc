// Table: marking, reading what was marked, and telling what has changed since.
#include "capstan/store/table_mark.h"

#include <algorithm>

#include "capstan/base/check.h"
#include "capstan/store/table.h"

namespace capstan {
namespace {

// Rows whose memory is asked for ahead of their use.
constexpr size_t kPlacesAhead = 8;

// Of keys erased since a copy. Above it, more than a share of the rows, they are not counted any
// more, and the next copy is a full one.
constexpr size_t kMinErased = 4096;
constexpr size_t kErasedShare = 2;

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
  marked_erased_ = std::move(erased_);
  erased_.clear();
  if (changes_only) mark_->erased.assign(marked_erased_.begin(), marked_erased_.end());
  tracked_ = true;
  erased_lost_ = false;
}

void Table::Unmark() { mark_.reset(); }

void Table::SettleMark(bool safe) {
  Unmark();
  changes_.Settle(safe);
  hot_.Settle(safe);
  if (!safe) {
    for (uint64_t key : marked_erased_) {
      if (FindRow(key, index_.TagOf(key)) == RowIndex::kNone) erased_.insert(key);
    }
  }
  marked_erased_.clear();
}

void Table::TrackChanges() {
  tracked_ = true;
  erased_lost_ = false;
  erased_.clear();
}

void Table::NoteErased(uint64_t key) {
  if (erased_lost_) return;
  erased_.insert(key);
  if (erased_.size() <= std::max(kMinErased, index_.size() / kErasedShare)) return;
  erased_lost_ = true;
  erased_ = {};
}

void Table::KeepImage(uint32_t row) {
  const RowChange change = changes_.of(row);
  if (change == RowChange::kFresh) return;  // It has one, or did not exist.
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

// A row that has not changed since the mark. It may have moved.
RowSlabs::Row Table::FindMarked(const RowPlace& place) const {
  if (place.row < slabs_.size() && slabs_.at(place.row).key() == place.key) {
    return slabs_.at(place.row);
  }
  const uint32_t found = FindRow(place.key, index_.TagOf(place.key));
  CAPSTAN_CHECK(found != RowIndex::kNone);
  return slabs_.at(found);
}

}  // namespace capstan
