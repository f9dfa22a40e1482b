// Parses numbers as people write them. Each function returns nullopt unless the whole text is such
// a number.
#ifndef CAPSTAN_CONFIG_QUANTITY_H_
#define CAPSTAN_CONFIG_QUANTITY_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace capstan {

// Parses 5000, 10k, 1.5M, 2G (powers of 1000). Also nullopt if the result is not whole or too
// large.
std::optional<uint64_t> ParseCount(absl::string_view text);

// Parses 1048576, 64KiB, 1.5GiB (powers of 1024), 64MB (powers of 1000).
std::optional<uint64_t> ParseByteSize(absl::string_view text);

// Parses 250ms, 10s, 5m, 1.5h, 2d; the result is in seconds. Only 0 may have no unit.
std::optional<double> ParseSeconds(absl::string_view text);

// Parses a finite number.
std::optional<double> ParseDecimal(absl::string_view text);

// Returns "64MiB", "1.5GiB": at most three digits before the unit, for people.
std::string ByteSizeText(uint64_t bytes);

}  // namespace capstan

#endif  // CAPSTAN_CONFIG_QUANTITY_H_
