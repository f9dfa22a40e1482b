// The weight of an example: by what its loss is multiplied.
#ifndef CAPSTAN_DATA_FORMATS_WEIGHTS_H_
#define CAPSTAN_DATA_FORMATS_WEIGHTS_H_

#include <string>
#include <string_view>

namespace capstan {

// Whether this can be a weight. False: `error` says what was expected; `shown` is what was found.
bool AdmitWeight(float weight, std::string_view shown, std::string& error);

// As a cell of a text says it. An empty one is no weight.
bool ParseWeight(std::string_view cell, float& weight, std::string& error);

}  // namespace capstan

#endif  // CAPSTAN_DATA_FORMATS_WEIGHTS_H_
