#include "capstan/data/tasks/label_order.h"

#include <algorithm>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <tuple>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "capstan/base/status.h"
#include "capstan/config/data_labels.h"
#include "capstan/data/formats/samples.h"
#include "capstan/data/tasks/tasks.h"

namespace capstan {
namespace {

constexpr uint64_t kPlaces = 64;
// How many bytes of text are read, in all places together.
constexpr uint64_t kMostBytes = uint64_t{512} << 10;
// How many records of other data are read, in all places together.
constexpr uint64_t kMostRecords = 10000;
// How many bytes of images are read, in all places together.
constexpr uint64_t kMostImageBytesRead = uint64_t{32} << 20;
constexpr uint64_t kMostImages = 1024;  // How many images of compressed files are read.
constexpr uint64_t kFewestPairs = 200;
// Below this likeness there is no warning: logs in the order of time have a little of it, which
// does no harm.
constexpr double kWorthTelling = 0.25;

void MeasureClasses(std::span<const std::vector<float>> places, LabelOrder& order) {
  std::map<float, uint64_t> counts;
  uint64_t records = 0;
  uint64_t same = 0;
  for (const std::vector<float>& labels : places) {
    records += labels.size();
    for (size_t i = 0; i < labels.size(); ++i) {
      ++counts[labels[i]];
      if (i > 0 && labels[i] == labels[i - 1]) ++same;
    }
  }
  for (const auto& [label, count] : counts) {
    const double share = static_cast<double>(count) / static_cast<double>(records);
    order.chance += share * share;
  }
  order.same = static_cast<double>(same) / static_cast<double>(order.pairs);
  if (counts.size() > 1) order.likeness = (order.same - order.chance) / (1 - order.chance);
}

void MeasureNumbers(std::span<const std::vector<float>> places, LabelOrder& order) {
  double sum = 0;
  double records = 0;
  for (const std::vector<float>& labels : places) {
    for (const float label : labels) sum += static_cast<double>(label);
    records += static_cast<double>(labels.size());
  }
  const double mean = sum / records;
  double variance = 0;
  double covariance = 0;
  for (const std::vector<float>& labels : places) {
    for (size_t i = 0; i < labels.size(); ++i) {
      const double here = static_cast<double>(labels[i]) - mean;
      variance += here * here / records;
      if (i == 0) continue;
      const double before = static_cast<double>(labels[i - 1]) - mean;
      covariance += here * before / static_cast<double>(order.pairs);
    }
  }
  if (variance > 0) order.likeness = covariance / variance;
}

// Returns the ranges in which to read labels, in the order in which a file is read. `anywhere`:
// ranges of records, too, can be read from where they begin.
std::vector<v1::Task> PlacesToLookAt(const TaskMix& mix, bool anywhere) {
  std::vector<v1::Task> places;
  for (uint32_t i = 0; i < mix.size() && places.size() < kPlaces; ++i) {
    if (mix.WholeRange(i)) break;
    for (v1::Task& piece : RangesOf(mix.TaskAt(/*epoch=*/0, i))) places.push_back(std::move(piece));
  }
  const auto visit_whole = [&](absl::FunctionRef<void(uint32_t, const TaskRange&)> visit) {
    for (uint32_t i = 0; i < mix.size(); ++i) {
      const std::optional<TaskRange> range = mix.WholeRange(i);
      if (!range) continue;
      if (anywhere || !range->by_records() || range->begin == 0) visit(i, *range);
    }
  };
  size_t whole = 0;
  visit_whole([&](uint32_t, const TaskRange&) { ++whole; });
  size_t number = 0;
  visit_whole([&](uint32_t index, const TaskRange& range) {
    if (number++ % (whole / kPlaces + 1) == 0) places.push_back(range.ToTask(index));
  });
  std::sort(places.begin(), places.end(), [](const v1::Task& a, const v1::Task& b) {
    return std::forward_as_tuple(a.file(), a.begin()) < std::forward_as_tuple(b.file(), b.begin());
  });
  return places;
}

std::optional<float> OnlyLabel(std::span<const std::vector<float>> places) {
  std::optional<float> only;
  for (const std::vector<float>& labels : places) {
    for (const float label : labels) {
      if (only && *only != label) return std::nullopt;
      only = label;
    }
  }
  return only;
}

}  // namespace

LabelOrder MeasureLabelOrder(std::span<const std::vector<float>> places, bool classes) {
  LabelOrder order{.classes = classes};
  for (const std::vector<float>& labels : places) {
    order.pairs += labels.empty() ? 0 : labels.size() - 1;
    order.records += labels.size();
  }
  order.only = OnlyLabel(places);
  if (order.pairs == 0) return order;
  (classes ? MeasureClasses : MeasureNumbers)(places, order);
  return order;
}

absl::StatusOr<std::vector<LabelOrder>> SampleLabelOrders(const Source& source,
                                                          const ReaderOptions& reader,
                                                          const TaskMix& mix) {
  const std::vector<v1::LabelSpec> labels = LabelsOf(reader.data);
  std::vector<LabelOrder> orders(labels.size());
  if (reader.data.format() == v1::DATA_FORMAT_SYNTHETIC) return orders;  // Drawn one by one.
  ReaderOptions options = reader;
  // Bad records are reported elsewhere.
  options.data.set_max_bad_records(std::numeric_limits<uint64_t>::max());
  options.images = ImageCheck::kNever;
  const bool images = IsImageFormat(options.data.format());
  const uint64_t most_bytes = images ? kMostImageBytesRead : kMostBytes;
  const uint64_t most_records = images ? kMostImages : kMostRecords;
  TaskReader task_reader(options, source);
  const std::vector<v1::Task> looked_at =
      PlacesToLookAt(mix, reader.data.format() == v1::DATA_FORMAT_PARQUET);
  std::vector<std::vector<std::vector<float>>> places(labels.size());  // By label.
  for (v1::Task place : looked_at) {
    const uint64_t most = (place.by_records() ? most_records : most_bytes) / looked_at.size();
    if (place.end() - place.begin() > most) place.set_end(place.begin() + most);
    place.clear_expected_records();
    CAPSTAN_ASSIGN_OR_RETURN(const std::shared_ptr<const LoadedTask> loaded,
                             task_reader.Read({.task = place, .evaluation = true}));
    for (size_t i = 0; i < labels.size(); ++i) {
      std::vector<float> found = loaded->LabelsAt(i);
      if (!found.empty()) places[i].push_back(std::move(found));
    }
  }
  for (size_t i = 0; i < labels.size(); ++i) {
    const bool classes = LossOf(labels[i], reader.loss) != v1::LOSS_SQUARED;
    orders[i] = MeasureLabelOrder(places[i], classes);
  }
  return orders;
}

std::string LabelOrderWarning(const v1::DataSpec& data, std::span<const LabelOrder> orders,
                              const TaskMix& mix) {
  const auto likeness = [](const LabelOrder& of) {
    return of.pairs < kFewestPairs ? 0 : of.likeness;
  };
  const auto most = std::ranges::max_element(orders, {}, likeness);
  if (most == orders.end() || likeness(*most) < kWorthTelling) return "";
  const LabelOrder& order = *most;
  const std::string name = LabelsOf(data)[static_cast<size_t>(most - orders.begin())].name();
  std::string what = absl::StrCat("the training data lie in the order of their ",
                                  name.empty() ? "labels" : "label ", name, ": ");
  if (order.classes) {
    absl::StrAppendFormat(&what,
                          "%.0f %% of neighbouring records have the same one, by chance it were "
                          "%.0f %%; ",
                          100 * order.same, 100 * order.chance);
  } else {
    absl::StrAppendFormat(&what, "those of neighbouring records correlate by %.2f; ",
                          order.likeness);
  }
  const uint64_t records = mix.ranges().expected_records();
  if (mix.mixed_records() == records) {
    return absl::StrCat(what, "each task therefore mixes pieces from all over them");
  }
  if (mix.mixes()) {
    return absl::StrCat(what, records - mix.mixed_records(), " of ", records,
                        " records are in large compressed or Parquet files, whose tasks are not "
                        "mixed with each other: decompress them, or shuffle the records");
  }
  return absl::StrCat(what, "set data.shuffle: true and data.pieces: 16, or shuffle the records");
}

}  // namespace capstan
