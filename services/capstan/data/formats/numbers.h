// Parses the numbers of text records.
#ifndef CAPSTAN_DATA_FORMATS_NUMBERS_H_
#define CAPSTAN_DATA_FORMATS_NUMBERS_H_

#include <cstdint>
#include <string_view>

namespace capstan {

// Returns `text` without the spaces around it.
std::string_view Trim(std::string_view text);

// Parses a decimal number with an optional sign and exponent and spaces around it. Returns false if
// it is not a number, or not a finite float.
bool ParseFloat(std::string_view text, float& value);

// The same for a double.
bool ParseDouble(std::string_view text, double& value);

// Parses a number that consists of digits only. Returns false if it is none, or above 2^64 - 1.
bool ParseIndex(std::string_view text, uint64_t& value);

}  // namespace capstan

#endif  // CAPSTAN_DATA_FORMATS_NUMBERS_H_
