#include "chief/work/task_sequence.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "capstan/base/check.h"
#include "capstan/base/hash.h"

namespace capstan::chief {
namespace {

constexpr size_t kOrdersKept = 4;
constexpr uint64_t kShuffleStream = 0x7461736B6F726465;  // "taskorde"

}  // namespace

Place TaskSequence::At(uint64_t position) {
  CAPSTAN_CHECK(position < size());
  const auto epoch = static_cast<uint32_t>(position / tasks_.size());
  return {epoch, OrderOf(epoch)[position % tasks_.size()]};
}

std::optional<uint64_t> TaskSequence::PositionOf(StreamId stream) {
  const uint64_t epoch = stream.value >> 32;
  const auto task = static_cast<uint32_t>(stream.value);
  if (epoch >= options_.epochs) return std::nullopt;
  const std::vector<uint32_t>& order = OrderOf(static_cast<uint32_t>(epoch));
  const auto place = std::find(order.begin(), order.end(), task);
  if (place == order.end()) return std::nullopt;
  return epoch * tasks_.size() + static_cast<uint64_t>(place - order.begin());
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
  // Fisher and Yates; the modulo's bias is below tasks / 2^64.
  for (size_t i = order.size(); i > 1; --i) {
    const uint64_t draw = Draw(options_.seed, kShuffleStream + epoch, i);
    std::swap(order[i - 1], order[draw % i]);
  }
  return order;
}

}  // namespace capstan::chief
