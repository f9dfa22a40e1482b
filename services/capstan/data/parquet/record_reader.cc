#include "capstan/data/parquet/record_reader.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <span>

#include "absl/strings/str_cat.h"
#include "capstan/base/status.h"
#include "capstan/data/formats/quote.h"
#include "capstan/data/parquet/codecs.h"

namespace capstan::parquet {
namespace {

// The most bytes of records that are read at once.
constexpr uint64_t kMostBytes = uint64_t{4} << 30;
constexpr uint64_t kMargin = uint64_t{64} << 10;  // Pages may end after the wanted rows.

}  // namespace

RecordReader::RecordReader(const Source& source, const ParquetFile& file,
                           const std::vector<WantedColumn>& wanted,
                           const std::vector<uint32_t>& places)
    : file_(file), wanted_(wanted), places_(places), ranged_(source, file.info) {
  for (const WantedColumn& column : wanted) {
    if (column.rule.is_label() || column.rule.bag_weights() != nullptr) continue;
    if (column.rule.is_weight()) {
      weighted_ = true;
    } else if (column.rule.is_group()) {
      grouped_ = true;
    } else if (column.rule.feature() != nullptr) {
      ++features_;
    } else {
      ++(column.rule.gives_key() ? keys_ : numbers_);
    }
  }
}

const Column& RecordReader::ColumnOf(size_t wanted) const {
  return file_.metadata.columns[places_[wanted]];
}

const Chunk& RecordReader::ChunkOf(size_t wanted, const RowGroup& group) const {
  return group.chunks[ColumnOf(wanted).leaf];
}

absl::Status RecordReader::Read(uint64_t begin, uint64_t end, Batch& records,
                                BadRecords& bad_records) {
  records.features.resize(features_);
  const std::vector<RowGroup>& groups = file_.metadata.row_groups;
  auto group = std::upper_bound(
      groups.begin(), groups.end(), begin,
      [](uint64_t row, const RowGroup& each) { return row < each.first_row + each.rows; });
  for (; group != groups.end() && group->first_row < end; ++group) {
    const uint64_t from = std::max(begin, group->first_row) - group->first_row;
    const uint64_t to = std::min(end - group->first_row, group->rows);
    if (from < to) CAPSTAN_RETURN_IF_ERROR(ReadGroup(*group, from, to, records, bad_records));
  }
  return absl::OkStatus();
}

absl::Status RecordReader::CheckSize(uint64_t rows, const Batch& records) const {
  const uint64_t row_bytes = records.label_count * sizeof(float) + sizeof(uint32_t) +
                             keys_ * sizeof(uint64_t) + numbers_ * sizeof(float) +
                             features_ * (sizeof(uint64_t) + sizeof(uint32_t));
  const bool fits = rows <= kMostBytes / row_bytes &&
                    records.keys.size() + rows * keys_ <= std::numeric_limits<uint32_t>::max();
  if (fits) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat(file_.info.path, ": a task of ", rows,
                                                   " rows is too large; make tasks smaller"));
}

absl::Status RecordReader::CheckChunks(const RowGroup& group) const {
  for (size_t i = 0; i < wanted_.size(); ++i) {
    const Chunk& chunk = ChunkOf(i, group);
    std::string why_not = chunk.unreadable;
    if (why_not.empty()) why_not = WhyUnsupportedCodec(chunk.codec);
    if (!why_not.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat(file_.info.path, ": column ", Quote(ColumnOf(i).name), " ", why_not));
    }
    // A list has an entry for each value, and one if it is empty.
    const bool fits = ColumnOf(i).list ? chunk.values >= group.rows : chunk.values == group.rows;
    if (!fits) {
      return absl::DataLossError(absl::StrCat(file_.info.path, ": column ", Quote(ColumnOf(i).name),
                                              ": has ", chunk.values, " values in a row group of ",
                                              group.rows, " rows"));
    }
  }
  return absl::OkStatus();
}

std::vector<size_t> RecordReader::ByOffset(const RowGroup& group) const {
  std::vector<size_t> order(wanted_.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return ChunkOf(a, group).begin < ChunkOf(b, group).begin;
  });
  return order;
}

// Tells the file how far will be read: neighbouring columns that are read to their end are one
// continuous read.
void RecordReader::Expect(const std::vector<size_t>& order, size_t at, const Rows& rows) {
  const Chunk& chunk = ChunkOf(order[at], rows.group);
  uint64_t end = chunk.end;
  if (rows.end < rows.group.rows) {
    const double share = static_cast<double>(rows.end) / static_cast<double>(rows.group.rows);
    const auto likely = static_cast<uint64_t>(share * static_cast<double>(end - chunk.begin));
    ranged_.Expect(std::min(end, chunk.begin + likely + kMargin));
    return;
  }
  for (size_t i = at + 1; i < order.size(); ++i) {
    const Chunk& next = ChunkOf(order[i], rows.group);
    if (next.begin > end + RangedFile::kMostPassed) break;
    end = std::max(end, next.end);
  }
  ranged_.Expect(end);
}

absl::Status RecordReader::ReadGroup(const RowGroup& group, uint64_t begin, uint64_t end,
                                     Batch& records, BadRecords& bad_records) {
  CAPSTAN_RETURN_IF_ERROR(CheckChunks(group));
  const uint64_t count = end - begin;
  CAPSTAN_RETURN_IF_ERROR(CheckSize(count, records));
  Rows rows = {.group = group,
               .begin = begin,
               .end = end,
               .first = records.examples(),
               .first_key = records.keys.size(),
               .first_number = records.dense.size(),
               .records = records};
  records.labels.resize((rows.first + count) * records.label_count);
  if (weighted_) records.weights.resize(rows.first + count);
  if (grouped_) records.groups.resize(rows.first + count);
  records.keys.resize(rows.first_key + count * keys_);
  records.dense.resize(rows.first_number + count * numbers_);
  const std::vector<size_t> order = ByOffset(group);
  for (size_t i = 0; i < order.size(); ++i) {
    Expect(order, i, rows);
    CAPSTAN_RETURN_IF_ERROR(ColumnOf(order[i]).list ? ReadLists(order[i], rows)
                                                    : ReadColumn(order[i], rows));
  }
  return Finish(rows, bad_records);
}

absl::Status RecordReader::ReadColumn(size_t wanted, Rows& rows) {
  ColumnReader reader(ColumnOf(wanted), ChunkOf(wanted, rows.group), ranged_);
  wanted_[wanted].rule.ConvertMissing(missing_);
  dictionary_converted_ = false;
  CAPSTAN_RETURN_IF_ERROR(reader.Skip(rows.begin));
  for (uint64_t row = rows.begin; row < rows.end;) {
    CAPSTAN_ASSIGN_OR_RETURN(const Cells* const cells, reader.Next(rows.end - row));
    Put(wanted, row - rows.begin, *cells, rows);
    row += cells->rows();
  }
  return absl::OkStatus();
}

// A row of a list consists of the entries from the one that begins it up to the next one that
// begins a row, which may be some pages further on.
absl::Status RecordReader::ReadLists(size_t wanted, Rows& rows) {
  const CellRule& rule = wanted_[wanted].rule;
  ColumnReader reader(ColumnOf(wanted), ChunkOf(wanted, rows.group), ranged_);
  dictionary_converted_ = false;
  CAPSTAN_ASSIGN_OR_RETURN(uint64_t begun, reader.SkipPages(rows.begin));  // Rows of the group.
  uint32_t count = 0;  // Values of the present row.
  const auto end_row = [&] {
    if (begun > rows.begin) EndBag(wanted, count, rows);
  };
  for (;;) {
    CAPSTAN_ASSIGN_OR_RETURN(const Cells* const cells, reader.NextEntries());
    if (cells->rows() == 0) break;
    const Converted& converted = ConvertCells(wanted, *cells);
    size_t next = 0;
    for (size_t i = 0; i < cells->rows(); ++i) {
      if (cells->begins[i] != 0) {
        end_row();
        if (begun == rows.end) return absl::OkStatus();
        ++begun;
        count = 0;
      }
      if (cells->present[i] == 0) continue;
      const size_t value = cells->dictionary != nullptr ? cells->places[next] : next;
      ++next;
      if (begun <= rows.begin || ++count > rule.most()) continue;
      if (converted.bad[value] == 0) {
        PutValue(wanted, converted, value, rows);
        continue;
      }
      const Values& values = cells->dictionary != nullptr ? *cells->dictionary : cells->values;
      NoteBad(wanted, begun - 1 - rows.begin, rule.Error(ColumnOf(wanted), values, value), rows);
    }
  }
  end_row();
  if (begun == rows.end) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat(file_.info.path, ": column ",
                                          Quote(ColumnOf(wanted).name), ": has lists of ", begun,
                                          " rows in a row group of ", rows.group.rows));
}

const Converted& RecordReader::ConvertCells(size_t wanted, const Cells& cells) {
  const CellRule& rule = wanted_[wanted].rule;
  if (cells.dictionary == nullptr) {
    rule.Convert(ColumnOf(wanted), cells.values, values_);
    return values_;
  }
  if (!dictionary_converted_) rule.Convert(ColumnOf(wanted), *cells.dictionary, dictionary_);
  dictionary_converted_ = true;
  return dictionary_;
}

// If a row has several bad cells, the error of the first wanted column is kept.
void RecordReader::NoteBad(size_t wanted, uint64_t row, std::string error, Rows& rows) {
  const auto known = rows.bad.find(row);
  if (known != rows.bad.end() && known->second.column <= wanted) return;
  rows.bad[row] = {wanted, std::move(error)};
}

void RecordReader::Put(size_t wanted, uint64_t row, const Cells& cells, Rows& rows) {
  const CellRule& rule = wanted_[wanted].rule;
  const Converted& converted = ConvertCells(wanted, cells);
  const bool in_dictionary = cells.dictionary != nullptr;
  size_t next = 0;
  for (size_t i = 0; i < cells.rows(); ++i) {
    const bool present = cells.present[i] != 0;
    const size_t value = !present ? 0 : in_dictionary ? cells.places[next] : next;
    if (present) ++next;
    const Converted& from = present ? converted : missing_;
    PutCell(wanted, row + i, from, value, rows);
    if (from.bad[value] == 0) continue;
    const Values& values = in_dictionary ? *cells.dictionary : cells.values;
    NoteBad(wanted, row + i,
            present ? rule.Error(ColumnOf(wanted), values, value) : rule.MissingError(), rows);
  }
}

void RecordReader::PutCell(size_t wanted, uint64_t row, const Converted& converted, size_t value,
                           Rows& rows) {
  const WantedColumn& column = wanted_[wanted];
  if (column.rule.is_bag()) {
    const uint32_t begin = value == 0 ? 0 : converted.ends[value - 1];
    if (column.rule.feature() != nullptr) {
      std::vector<uint64_t>& keys = rows.records.features[column.place].keys;
      keys.insert(keys.end(), converted.keys.begin() + begin,
                  converted.keys.begin() + converted.ends[value]);
    } else {
      const std::span<const float> all = converted.numbers;
      rows.weights[column.place].Add(all.subspan(begin, converted.ends[value] - begin));
    }
    EndBag(wanted, converted.counts.empty() ? 0 : converted.counts[value], rows);
  } else if (column.rule.is_label()) {
    rows.records.labels[(rows.first + row) * rows.records.label_count + column.place] =
        converted.numbers[value];
  } else if (column.rule.is_weight()) {
    rows.records.weights[rows.first + row] = converted.numbers[value];
  } else if (column.rule.is_group()) {
    rows.records.groups[rows.first + row] = converted.keys[value];
  } else if (column.rule.gives_key()) {
    rows.records.keys[rows.first_key + row * keys_ + column.place] = converted.keys[value];
  } else {
    rows.records.dense[rows.first_number + row * numbers_ + column.place] =
        converted.numbers[value];
  }
}

void RecordReader::PutValue(size_t wanted, const Converted& converted, size_t value, Rows& rows) {
  const WantedColumn& column = wanted_[wanted];
  const uint32_t place = converted.ends[value] - 1;
  if (column.rule.feature() != nullptr) {
    rows.records.features[column.place].keys.push_back(converted.keys[place]);
  } else {
    rows.weights[column.place].Add(std::span(converted.numbers).subspan(place, 1));
  }
}

void RecordReader::EndBag(size_t wanted, uint32_t count, Rows& rows) {
  const WantedColumn& column = wanted_[wanted];
  const FeatureRule* const feature = column.rule.feature();
  if (feature == nullptr) return rows.weights[column.place].EndWeights(count);
  Bags& bags = rows.records.features[column.place];
  bags.offsets.push_back(static_cast<uint32_t>(bags.keys.size()));
  if (feature->weighted()) rows.weights[column.place].EndValues(count);
}

void RecordReader::NoteMiscounted(Rows& rows) {
  if (rows.weights.empty()) return;
  for (size_t i = 0; i < wanted_.size(); ++i) {
    const BagWeightRule* const rule = wanted_[i].rule.bag_weights();
    if (rule == nullptr) continue;
    const WeightRows& weights = rows.weights[wanted_[i].place];
    for (uint64_t row = 0; row < rows.end - rows.begin; ++row) {
      std::string error = weights.WhyNot(*rule, row);
      if (!error.empty()) NoteBad(i, row, std::move(error), rows);
    }
  }
}

void RecordReader::NoteUnlabelled(Rows& rows) {
  const size_t labels = rows.records.label_count;
  const auto first = std::find_if(wanted_.begin(), wanted_.end(), [](const WantedColumn& column) {
    return column.rule.is_label();
  });
  if (first == wanted_.end()) return;  // The labels are not read.
  const std::span<const float> all = rows.records.labels;
  for (uint64_t row = 0; row < rows.end - rows.begin; ++row) {
    if (!LacksAllLabels(all.subspan((rows.first + row) * labels, labels))) continue;
    NoteBad(static_cast<size_t>(first - wanted_.begin()), row, kNoLabelAtAll, rows);
  }
}

// Removes the keys and weights of bad rows from `bags`.
void RecordReader::DropBad(const Rows& rows, Bags& bags) {
  if (rows.bad.empty()) return;
  size_t place = rows.first;  // The index of the last offset that is kept.
  uint32_t from = bags.offsets[place];
  uint32_t size = from;
  for (uint64_t row = 0; row < rows.end - rows.begin; ++row) {
    const uint32_t to = bags.offsets[rows.first + row + 1];
    if (!rows.bad.contains(row)) {
      std::copy(bags.keys.begin() + from, bags.keys.begin() + to, bags.keys.begin() + size);
      size += to - from;
      bags.offsets[++place] = size;
    }
    from = to;
  }
  bags.keys.resize(size);
  bags.offsets.resize(place + 1);
}

// Removes the bad rows from the records, and reports them.
absl::Status RecordReader::Finish(Rows& rows, BadRecords& bad_records) {
  Batch& records = rows.records;
  const auto move = [](auto& all, size_t first, size_t width, uint64_t from, uint64_t to) {
    const auto begin = all.begin() + static_cast<ptrdiff_t>(first + from * width);
    std::copy(begin, begin + static_cast<ptrdiff_t>(width),
              all.begin() + static_cast<ptrdiff_t>(first + to * width));
  };
  const size_t labels = records.label_count;
  NoteUnlabelled(rows);
  NoteMiscounted(rows);
  uint64_t kept = 0;
  for (uint64_t row = 0; row < rows.end - rows.begin; ++row) {
    if (rows.bad.contains(row)) continue;
    for (const auto& [place, weights] : rows.weights) {
      weights.AppendTo(row, records.features[place]);
    }
    if (kept != row) {
      move(records.labels, rows.first * labels, labels, row, kept);
      if (weighted_) move(records.weights, rows.first, 1, row, kept);
      if (grouped_) move(records.groups, rows.first, 1, row, kept);
      move(records.keys, rows.first_key, keys_, row, kept);
      move(records.dense, rows.first_number, numbers_, row, kept);
    }
    ++kept;
    records.offsets.push_back(static_cast<uint32_t>(rows.first_key + kept * keys_));
  }
  for (Bags& bags : records.features) DropBad(rows, bags);
  records.labels.resize((rows.first + kept) * labels);
  if (weighted_) records.weights.resize(rows.first + kept);
  if (grouped_) records.groups.resize(rows.first + kept);
  records.keys.resize(rows.first_key + kept * keys_);
  records.dense.resize(rows.first_number + kept * numbers_);
  for (const auto& [row, bad] : rows.bad) {
    const Column& column = ColumnOf(bad.column);
    CAPSTAN_RETURN_IF_ERROR(bad_records.Report(
        absl::StrCat(file_.info.path, ": row ", rows.group.first_row + rows.begin + row,
                     ": column ", places_[bad.column], " (", column.name, "): ", bad.error)));
  }
  return absl::OkStatus();
}

}  // namespace capstan::parquet
