// Parses the weight of an example, which is the factor of its loss.
#ifndef CAPSTAN_DATA_FORMATS_WEIGHTS_H_
#define CAPSTAN_DATA_FORMATS_WEIGHTS_H_

#include <string>
#include <string_view>

namespace capstan {

// Returns true if `weight` is a valid weight. If not, `error` says what was expected in place of
// `shown`.
bool AdmitWeight(float weight, std::string_view shown, std::string& error);

// Sets `weight` to the weight in a cell of text; an empty cell is not a weight. Returns false and
// sets `error` as AdmitWeight does.
bool ParseWeight(std::string_view cell, float& weight, std::string& error);

}  // namespace capstan

#endif  // CAPSTAN_DATA_FORMATS_WEIGHTS_H_
