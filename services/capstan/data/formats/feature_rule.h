// A cell of text -> the keys of one of data.features.
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

// A plain value; thread-compatible.
//
// A hashed value has the key HashText(value), an id itself, both modulo `buckets` where that is
// given; a text of a vocabulary its place there, and another one, of `unknown` keys behind those,
// the one at HashText(value) modulo `unknown`: stable for ever, as keys are stored with the model.
// An empty cell is an empty bag, but for a single value that is a text, where the empty text is a
// value of its own.
class FeatureRule {
 public:
  // `vocabulary`: of a feature that has one. A rule without it may be asked for all but keys.
  explicit FeatureRule(const v1::FeatureSpec& spec,
                       std::shared_ptr<const Vocabulary> vocabulary = nullptr);

  // Adds the cell's keys. False: `error` says what was expected; some of them may have been added.
  bool Append(std::string_view cell, std::vector<uint64_t>& keys, std::string& error) const;
  // Adds the key of one value of a cell that is a list in the file. False: as above.
  bool AppendOne(std::string_view value, std::vector<uint64_t>& keys, std::string& error) const;

  const std::string& name() const { return name_; }
  bool many() const { return many_; }
  uint32_t most() const { return most_; }
  // Each of its values has a weight, in another column.
  bool weighted() const { return weighted_; }
  // How many values a text holds, also beyond `most`.
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
  std::shared_ptr<const Vocabulary> vocabulary_;  // Shared with other readers of the same data.
};

}  // namespace capstan

#endif  // CAPSTAN_DATA_FORMATS_FEATURE_RULE_H_
