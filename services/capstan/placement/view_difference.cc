#include "capstan/placement/view_difference.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "capstan/base/ids.h"
#include "capstan/base/status.h"
#include "capstan/placement/view_epoch.h"

namespace capstan {
namespace {

using Owners = google::protobuf::RepeatedField<uint32_t>;
using Splices = google::protobuf::RepeatedPtrField<v1::Splice>;

// Calls `each` for every list of a view: with its name, the earlier view's list, and the list and
// the splices of the difference.
template <typename Each>
void ForEachList(const v1::View& before, v1::ViewDifference& difference, Each each) {
  v1::View& after = *difference.mutable_after();
  each("owners", before.owners(), *after.mutable_owners(), *difference.mutable_owners());
  each("shards", before.shards(), *after.mutable_shards(), *difference.mutable_shards());
  each("trainers", before.trainers(), *after.mutable_trainers(), *difference.mutable_trainers());
  each("moves", before.moves(), *after.mutable_moves(), *difference.mutable_moves());
  each("copies", before.copies(), *after.mutable_copies(), *difference.mutable_copies());
  each("pairs", before.pairs(), *after.mutable_pairs(), *difference.mutable_pairs());
}

// ---- the difference of two lists ----

// Iterates over the earlier list, and records what happens to its elements.
template <typename List>
class Edits {
 public:
  explicit Edits(Splices& splices) : splices_(splices) {}

  void Keep() {
    ++place_;
    open_ = nullptr;
  }
  void Remove() {
    v1::Splice& splice = Open();
    splice.set_removed(splice.removed() + 1);
    ++place_;
  }
  template <typename Element>
  void Add(const Element& element) {
    v1::Splice& splice = Open();
    splice.set_added(splice.added() + 1);
    *added_.Add() = element;
  }
  // The elements that were added.
  List& added() { return added_; }

 private:
  v1::Splice& Open() {
    if (open_ == nullptr) {
      open_ = splices_.Add();
      open_->set_at(place_);
    }
    return *open_;
  }

  Splices& splices_;
  List added_;
  uint32_t place_ = 0;
  v1::Splice* open_ = nullptr;
};

// An owner belongs to the partition with its index: owners do not shift.
void Reduce(const Owners& before, Owners& list, Splices& splices) {
  Edits<Owners> edits(splices);
  for (int place = 0; place < std::max(before.size(), list.size()); ++place) {
    if (place < before.size() && place < list.size() && before[place] == list[place]) {
      edits.Keep();
      continue;
    }
    if (place < before.size()) edits.Remove();
    if (place < list.size()) edits.Add(list[place]);
  }
  list.Swap(&edits.added());
}

// Elements as text, so that two are equal only if all fields are, including those of later
// versions.
template <typename List>
std::vector<std::string> TextsOf(const List& list) {
  std::vector<std::string> texts;
  texts.reserve(static_cast<size_t>(list.size()));
  for (const auto& element : list) texts.push_back(element.SerializeAsString());
  return texts;
}

// Reduces `list` to the elements that `before` does not have, and adds the splices. Elements that
// have changed their order are removed and added.
template <typename List>
void Reduce(const List& before, List& list, Splices& splices) {
  const std::vector<std::string> old = TextsOf(before);
  const std::vector<std::string> now = TextsOf(list);
  struct Left {
    int old = 0;
    int now = 0;
  };
  absl::flat_hash_map<std::string, Left> left;  // How often each has yet to come in both.
  for (const std::string& text : old) ++left[text].old;
  for (const std::string& text : now) ++left[text].now;
  Edits<List> edits(splices);
  size_t i = 0, j = 0;
  while (i < old.size() || j < now.size()) {
    if (i < old.size() && j < now.size() && old[i] == now[j]) {
      Left& both = left[old[i]];
      --both.old;
      --both.now;
      ++i;
      ++j;
      edits.Keep();
    } else if (i < old.size() &&
               (j == now.size() || left[old[i]].now == 0 || left[now[j]].old > 0)) {
      --left[old[i++]].old;
      edits.Remove();
    } else {
      --left[now[j]].now;
      edits.Add(list[static_cast<int>(j++)]);
    }
  }
  list.Swap(&edits.added());
}

// ---- the list that a difference makes ----

absl::Status DoesNotFit(const char* name, const std::string& how) {
  return absl::InvalidArgumentError(
      absl::StrCat("the difference of two views does not fit the view's ", name, ": ", how));
}

// Turns `list`, which has the new elements, into the whole list.
template <typename List>
absl::Status Complete(const char* name, const List& before, List& list, const Splices& splices) {
  List whole;
  int64_t place = 0;  // `before` was processed up to here.
  int64_t taken = 0;  // How many of the new elements are in `whole`.
  for (const v1::Splice& splice : splices) {
    const int64_t end = int64_t{splice.at()} + splice.removed();
    if (splice.at() < place || end > before.size()) {
      return DoesNotFit(name, absl::StrCat("places ", splice.at(), " to ", end, " of ",
                                           before.size(), ", where ", place, " is next"));
    }
    if (taken + splice.added() > list.size()) {
      return DoesNotFit(
          name, absl::StrCat(taken + splice.added(), " are added, and ", list.size(), " are told"));
    }
    whole.Add(before.begin() + place, before.begin() + splice.at());
    whole.Add(list.begin() + taken, list.begin() + taken + splice.added());
    place = end;
    taken += splice.added();
  }
  if (taken != list.size()) {
    return DoesNotFit(name, absl::StrCat(taken, " are added, and ", list.size(), " are told"));
  }
  whole.Add(before.begin() + place, before.end());
  list.Swap(&whole);
  return absl::OkStatus();
}

std::string Text(ViewEpoch epoch) { return absl::StrCat(epoch.term, ".", epoch.n); }

}  // namespace

v1::ViewDifference DifferenceOf(const v1::View& before, const v1::View& after) {
  v1::ViewDifference difference;
  ToProto(EpochOf(before), *difference.mutable_base());
  *difference.mutable_after() = after;
  ForEachList(before, difference, [](const char*, const auto& old, auto& list, Splices& splices) {
    Reduce(old, list, splices);
  });
  return difference;
}

absl::StatusOr<v1::View> ApplyDifference(const v1::View& before, v1::ViewDifference difference,
                                         size_t most_bytes) {
  const ViewEpoch epoch = EpochOf(before);
  const ViewEpoch base = ViewEpochFromProto(difference.base());
  if (base != epoch) {
    return absl::FailedPreconditionError(absl::StrCat(
        "a difference to view ", Text(base), " came where view ", Text(epoch), " was told last"));
  }
  if (difference.after().has_difference() || EpochOf(difference.after()) <= epoch) {
    return absl::InvalidArgumentError(absl::StrCat("a difference to view ", Text(epoch),
                                                   " leads to no newer view, but to ",
                                                   Text(EpochOf(difference.after()))));
  }
  absl::Status fits;
  ForEachList(before, difference,
              [&fits](const char* name, const auto& old, auto& list, const Splices& splices) {
                fits.Update(Complete(name, old, list, splices));
              });
  CAPSTAN_RETURN_IF_ERROR(fits);
  v1::View& after = *difference.mutable_after();
  if (after.ByteSizeLong() > most_bytes) {
    return absl::ResourceExhaustedError(absl::StrCat("a difference makes a view of ",
                                                     after.ByteSizeLong(), " bytes, and at most ",
                                                     most_bytes, " are read"));
  }
  return std::move(after);
}

}  // namespace capstan
