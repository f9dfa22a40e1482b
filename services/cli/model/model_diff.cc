#include "cli/model/model_diff.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <tuple>
#include <utility>

#include "absl/types/span.h"
#include "capstan/base/status.h"

namespace capstan::cli {
namespace {

using Floats = absl::Span<const float>;

// Compares bit for bit, so that NaN is equal to itself.
bool Same(Floats a, Floats b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

// NaN counts as larger than any number.
double Larger(double a, double b) { return std::isnan(a) || b <= a ? a : b; }

// Weights that are equal do not differ, though the difference of two infinities, or of a NaN and
// itself, is not 0.
double Largest(Floats a, Floats b) {
  double largest = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    if (Same(a.subspan(i, 1), b.subspan(i, 1))) continue;
    largest = Larger(largest, std::fabs(static_cast<double>(a[i]) - b[i]));
  }
  return largest;
}

// A copy of a table's rows in the order of their keys.
struct Rows {
  struct Row {
    uint64_t key = 0;
    uint32_t frequency = 0;
    uint64_t touched = 0;
    size_t state = 0;
  };

  explicit Rows(const Table& table) : width(table.dim() + table.slot_count()) {
    table.ForEachRow([this](const RowState& row) {
      rows.push_back({row.key, row.frequency, row.touched_examples, floats.size()});
      floats.insert(floats.end(), row.state.begin(), row.state.end());
    });
  }
  Floats StateOf(const Row& row) const { return absl::MakeSpan(floats).subspan(row.state, width); }

  size_t width;
  std::vector<Row> rows;
  std::vector<float> floats;
};

void DiffRow(const Rows& a, const Rows::Row& x, const Rows& b, const Rows::Row& y, size_t dim,
             PartDiff& diff) {
  ++diff.common;
  const Floats left = a.StateOf(x);
  const Floats right = b.StateOf(y);
  if (!Same(left.first(dim), right.first(dim))) {
    ++diff.changed;
    diff.largest = Larger(diff.largest, Largest(left.first(dim), right.first(dim)));
    return;
  }
  const bool same = Same(left, right) && x.frequency == y.frequency && x.touched == y.touched;
  if (!same) ++diff.slots_changed;
}

void DiffTable(const Table& first, const Table& second, PartDiff& diff) {
  const Rows a(first);
  const Rows b(second);
  size_t i = 0;
  size_t j = 0;
  while (i < a.rows.size() || j < b.rows.size()) {
    if (j == b.rows.size() || (i < a.rows.size() && a.rows[i].key < b.rows[j].key)) {
      ++diff.removed;
      ++i;
    } else if (i == a.rows.size() || b.rows[j].key < a.rows[i].key) {
      ++diff.added;
      ++j;
    } else {
      DiffRow(a, a.rows[i++], b, b.rows[j++], first.dim(), diff);
    }
  }
}

// The slots of a block: some of each weight, which lie `length` floats apart, and behind them what
// the whole block has in common, such as the step of Adam.
bool SameSlots(Floats left, Floats right, size_t length, size_t weight) {
  const size_t own_end = left.size() - left.size() % length;
  for (size_t at = length + weight; at < own_end; at += length) {
    if (!Same(left.subspan(at, 1), right.subspan(at, 1))) return false;
  }
  return Same(left.subspan(own_end), right.subspan(own_end));
}

void DiffBlock(Floats left, Floats right, size_t length, PartDiff& diff) {
  diff.common += length;
  for (size_t k = 0; k < length; ++k) {
    if (!Same(left.subspan(k, 1), right.subspan(k, 1))) {
      ++diff.changed;
    } else if (left.size() != right.size() || !SameSlots(left, right, length, k)) {
      ++diff.slots_changed;
    }
  }
  diff.largest = Larger(diff.largest, Largest(left.first(length), right.first(length)));
}

}  // namespace

absl::StatusOr<std::vector<PartDiff>> DiffCheckpoints(const CheckpointReader& first,
                                                      const CheckpointReader& second) {
  const v1::JobSpec& job = first.manifest().job();
  CAPSTAN_RETURN_IF_ERROR(second.CheckJob(job));
  CAPSTAN_ASSIGN_OR_RETURN(const DenseLayout layout,
                           DenseLayout::Create(job.tensors(), job.partition_count()));
  std::vector<PartDiff> diffs;
  for (const v1::TableSpec& table : job.tables()) {
    diffs.push_back({.name = table.name(), .table = true});
  }
  for (const v1::TensorSpec& tensor : job.tensors()) diffs.push_back({.name = tensor.name()});
  for (uint32_t i = 0; i < job.partition_count(); ++i) {
    const auto partition = static_cast<PartitionIndex>(i);
    CAPSTAN_ASSIGN_OR_RETURN(const DecodedPartition a, first.Read(partition, job, layout));
    CAPSTAN_ASSIGN_OR_RETURN(const DecodedPartition b, second.Read(partition, job, layout));
    const size_t tables = a.store->tables().size();
    for (size_t t = 0; t < tables; ++t) {
      DiffTable(*a.store->tables()[t], *b.store->tables()[t], diffs[t]);
    }
    for (const Block& block : a.store->blocks().blocks()) {
      DiffBlock(a.store->blocks().State(block.id), b.store->blocks().State(block.id), block.length,
                diffs[tables + block.tensor]);
    }
  }
  return diffs;
}

}  // namespace capstan::cli
