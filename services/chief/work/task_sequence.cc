#include "chief/work/task_sequence.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "capstan/base/check.h"
#include "capstan/base/hash.h"
#include "capstan/base/permutation.h"

namespace capstan::chief {
namespace {

constexpr size_t kOrdersKept = 4;
constexpr uint64_t kShuffleStream = 0x7461736B6F726465;  // "taskorde"

}  // namespace

Place TaskSequence::At(uint64_t position) {
  CAPSTAN_CHECK(position < size());
  const auto epoch = static_cast<uint32_t>(position / tasks_.size());
  const auto place = static_cast<uint32_t>(position % tasks_.size());
  return {epoch, options_.numbered_in_order ? place : OrderOf(epoch)[place]};
}

uint32_t TaskSequence::Drawn(const Place& place) const {
  if (!options_.shuffle || !options_.numbered_in_order) return place.index;
  const Permutation order(tasks_.size(), options_.seed, kShuffleStream + place.epoch);
  return static_cast<uint32_t>(order(place.index));
}

v1::Task TaskSequence::task(const Place& place) const {
  v1::Task task = tasks_.TaskAt(place.epoch, Drawn(place));
  task.set_index(place.index);
  return task;
}

std::optional<uint64_t> TaskSequence::PositionOf(StreamId stream) {
  const uint64_t epoch = stream.value >> 32;
  const auto task = static_cast<uint32_t>(stream.value);
  if (epoch >= options_.epochs || task >= tasks_.size()) return std::nullopt;
  if (options_.numbered_in_order) return epoch * tasks_.size() + task;
  const std::vector<uint32_t>& order = OrderOf(static_cast<uint32_t>(epoch));
  const auto place = std::find(order.begin(), order.end(), task);
  return epoch * tasks_.size() + static_cast<uint64_t>(place - order.begin());
}

uint64_t TaskSequence::fingerprint() const {
  const uint64_t tasks = tasks_.fingerprint();
  const bool renumbered = options_.shuffle && options_.numbered_in_order;
  return renumbered ? Mix64(tasks ^ kShuffleStream) : tasks;
}

const std::vector<uint32_t>& TaskSequence::OrderOf(uint32_t epoch) {
  auto order = orders_.find(epoch);
  if (order == orders_.end()) {
    if (orders_.size() >= kOrdersKept) orders_.erase(orders_.begin());
    order = orders_.emplace(epoch, MakeOrder(epoch)).first;
  }
  return order->second;
}

std::vector<uint32_t> TaskSequence::MakeOrder(uint32_t epoch) const {
  std::vector<uint32_t> order(tasks_.size());
  std::iota(order.begin(), order.end(), 0u);
  if (!options_.shuffle) return order;
  // Fisher-Yates shuffle; the modulo's bias is below tasks / 2^64.
  for (size_t i = order.size(); i > 1; --i) {
    const uint64_t draw = Draw(options_.seed, kShuffleStream + epoch, i);
    std::swap(order[i - 1], order[draw % i]);
  }
  return order;
}

}  // namespace capstan::chief
