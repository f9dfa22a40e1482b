// The values that a key of job.yaml may have: the kinds of values, with their ranges and defaults.
#ifndef CAPSTAN_CONFIG_KEY_VALUES_H_
#define CAPSTAN_CONFIG_KEY_VALUES_H_

#include <cstdint>
#include <optional>
#include <span>
#include <variant>

#include "absl/strings/string_view.h"

namespace capstan {

struct WholeRange {
  uint64_t min = 0;
  uint64_t max = UINT64_MAX;

  bool Has(uint64_t value) const { return value >= min && value <= max; }
};

struct NumberRange {
  static constexpr double kNoEnd = 1e30;

  double min = 0;
  double max = kNoEnd;
  bool open = false;  // min itself is excluded.

  bool Has(double value) const { return (open ? value > min : value >= min) && value <= max; }
};

// A name that may be written in the file, and the value of v1::JobSpec that it stands for: that of
// an enumeration, or 0 and 1 for false and true. It is not used if the name itself is the value.
struct KeyChoice {
  absl::string_view name;
  int value = 0;
};

// In each, `by_default` is the value in jobs without the key. If it is not set, the key is then off
// (0), or it is required, or its default depends on other keys or on the data.
struct MapKey {};  // A map of keys.
struct TextKey {
  absl::string_view by_default = {};
};
struct TextsKey {  // One text, or a list.
  bool or_map = false;
};
struct FlagKey {  // true, false
  bool by_default = false;
};
struct WholeKey {  // 5000, 10k, 1M
  WholeRange in = {};
  std::optional<uint64_t> by_default = {};
};
struct WholesKey {  // One whole number, or a list.
  WholeRange in = {};
};
struct BytesKey {  // 64MiB
  uint64_t min = 0;
  std::optional<uint64_t> by_default = {};
};
struct SecondsKey {  // 250ms, 10s, 5m
  NumberRange in = {};
  std::optional<double> by_default = {};
};
struct NumberKey {
  NumberRange in = {};
  std::optional<double> by_default = {};
};
struct NumbersKey {};  // A list of any numbers.
struct ChoiceKey {
  std::span<const KeyChoice> among = {};
  absl::string_view by_default = {};  // A name.
};
struct ListKey {};  // One or a list, of maps or of values with their own grammar (columns).
// A setting of optimizers: each kind of optimizer has its own range and default for it
// (capstan/optim/optimizer_description.h).
struct OptimizerKey {};

using KeyValues = std::variant<MapKey, TextKey, TextsKey, FlagKey, WholeKey, WholesKey, BytesKey,
                               SecondsKey, NumberKey, NumbersKey, ChoiceKey, ListKey, OptimizerKey>;

}  // namespace capstan

#endif  // CAPSTAN_CONFIG_KEY_VALUES_H_
