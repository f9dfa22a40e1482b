// Parses the weight of an example, the factor of its loss.
#ifndef CAPSTAN_DATA_FORMATS_WEIGHTS_H_
#define CAPSTAN_DATA_FORMATS_WEIGHTS_H_

#include <string>
#include <string_view>

namespace capstan {

// Returns whether `weight` can be a weight. If not, `error` says what was expected in place of
// `shown`.
bool AdmitWeight(float weight, std::string_view shown, std::string& error);

// Sets `weight` to the weight that a cell of text says; an empty cell is no weight. Returns false
// and sets `error` as AdmitWeight does.
bool ParseWeight(std::string_view cell, float& weight, std::string& error);

}  // namespace capstan

#endif  // CAPSTAN_DATA_FORMATS_WEIGHTS_H_
