// Parses tf.train.Example: named lists of texts and numbers, as a protobuf message.
#ifndef CAPSTAN_DATA_FORMATS_TF_EXAMPLE_H_
#define CAPSTAN_DATA_FORMATS_TF_EXAMPLE_H_

#include <cstdint>
#include <optional>
#include <string_view>
#include <variant>

namespace capstan {

// The first value of a feature; a text points into the message.
using FeatureValue = std::variant<std::string_view, int64_t, float>;

// nullopt: there is no feature of that name, or it has no value.
struct TwoFeatures {
  std::optional<FeatureValue> first;
  std::optional<FeatureValue> second;
};

// Finds two features by name in an Example. Returns false if `message` is not an Example.
bool FindFeatures(std::string_view message, std::string_view first_name,
                  std::string_view second_name, TwoFeatures& found);

}  // namespace capstan

#endif  // CAPSTAN_DATA_FORMATS_TF_EXAMPLE_H_
