// Turns a cell of text into the keys of a feature in data.features.
#ifndef CAPSTAN_DATA_FORMATS_FEATURE_RULE_H_
#define CAPSTAN_DATA_FORMATS_FEATURE_RULE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "capstan/data/formats/bag_weights.h"
#include "capstan/data/formats/vocabulary.h"
#include "capstan/v1/job.pb.h"

namespace capstan {

// A value type; thread-compatible.
//
// The key of a hashed value is HashText(value), and an id is its own key; both are taken modulo
// `buckets` if that is set. The key of a text in a vocabulary is its line number there. Any other
// text gets one of the `unknown` keys that follow the vocabulary's, chosen by HashText(value)
// modulo `unknown`. These rules never change, as keys are stored with the model. An empty cell is
// an empty bag, except in a feature of single texts, where the empty text is a value like any
// other.
class FeatureRule {
 public:
  // `vocabulary` is the feature's, if it has one. If it is missing, Append and AppendOne must not
  // be called.
  explicit FeatureRule(const v1::FeatureSpec& spec,
                       std::shared_ptr<const Vocabulary> vocabulary = nullptr);

  // Appends the cell's keys. Returns false if the cell is malformed: `error` then says what was
  // expected, and some keys may have been appended.
  bool Append(std::string_view cell, std::vector<uint64_t>& keys, std::string& error) const;
  // Appends the key of one value, for files whose cells are lists. Returns false as Append does.
  bool AppendOne(std::string_view value, std::vector<uint64_t>& keys, std::string& error) const;

  const std::string& name() const { return name_; }
  bool many() const { return many_; }
  uint32_t most() const { return most_; }
  // True: each value has a weight, in another column.
  bool weighted() const { return weighted_; }
  // Returns how many values a text has, including those beyond `most`.
  uint32_t CountOf(std::string_view cell) const { return CountValues(cell, separator_); }

 private:
  bool KeyOf(std::string_view value, uint64_t& key, std::string& error) const;

  std::string name_;
  v1::KeyKind kind_;
  bool many_;
  char separator_;
  uint32_t most_;
  bool weighted_;
  uint64_t buckets_;
  uint32_t unknown_;
  // Shared with the other readers of the same data.
  std::shared_ptr<const Vocabulary> vocabulary_;
};

}  // namespace capstan

#endif  // CAPSTAN_DATA_FORMATS_FEATURE_RULE_H_
