// Which labels a job accepts.
#ifndef CAPSTAN_DATA_LABELS_H_
#define CAPSTAN_DATA_LABELS_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "capstan/v1/job.pb.h"

namespace capstan {

// kIgnored: records are scored, not trained on. They may lack the label (csv and tsv: one cell
// fewer; libsvm and libfm: the line begins with a feature); one that is there may be anything. All
// labels are 0.
enum class Labels { kRequired, kIgnored };

// Immutable.
class LabelRule {
 public:
  // `classes`: of a softmax; 0 or 1: not known, any whole number from 0 passes.
  LabelRule(const v1::DataSpec& data, v1::Loss loss, uint32_t classes,
            Labels labels = Labels::kRequired);

  bool ignored() const { return ignored_; }

  // The label of `text`, or of a number. False: it is none, or outside the loss's domain; `error`
  // then says so.
  bool Parse(std::string_view text, float& label, std::string& error) const;
  bool Admit(float number, float& label, std::string& error) const;

 private:
  bool binarize_;
  float threshold_;
  v1::Loss loss_;
  uint32_t classes_;
  bool ignored_;
};

}  // namespace capstan

#endif  // CAPSTAN_DATA_LABELS_H_
