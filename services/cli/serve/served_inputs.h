// Turns the inputs of a request to a served model into records.
#ifndef CAPSTAN_CLI_SERVE_SERVED_INPUTS_H_
#define CAPSTAN_CLI_SERVE_SERVED_INPUTS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "capstan/data/formats/batch.h"
#include "capstan/data/formats/vocabulary.h"
#include "capstan/inference/inference.h"
#include "capstan/v1/job.pb.h"

namespace capstan::cli {

// For records of text a request has either the input `records`, with a line for each record in the
// format of the job, or one input for each column, called by the column's name or, where the job
// only numbers it, by its number. A value of a column is its cell; where all that is read of a
// column are lists (features with `many`, and their weights), a row may instead have a list of its
// values. For images a request has the input `pixels`, with a row for each image.
// Immutable, hence thread-safe.
class ServedInputs {
 public:
  // `vocabularies` are those of data.features.
  explicit ServedInputs(const v1::JobSpec& job, Vocabularies vocabularies = {});

  struct Input {
    std::string name;
    std::string datatype;
    size_t width = 1;  // Numbers for each record.
  };
  // The inputs that a request may have: `records` or `pixels`, and the columns.
  const std::vector<Input>& inputs() const { return inputs_; }

  // Returns the records of a request. INVALID_ARGUMENT, with the input or the record and what was
  // expected: it is malformed.
  absl::StatusOr<Batch> Read(const InferRequest& request) const;

 private:
  absl::StatusOr<Batch> ReadPixels(const InferRequest& request) const;
  absl::StatusOr<Batch> ReadLines(const std::vector<std::string>& lines) const;
  absl::StatusOr<std::vector<std::string>> JoinColumns(const InferRequest& request) const;
  // Returns the inputs by their column, each checked for values that its column cannot take. Null
  // stands for a column that nobody reads.
  absl::StatusOr<std::vector<const InferInput*>> ByColumn(const InferRequest& request) const;

  // What a column is read as.
  struct Use {
    bool keys = false;              // Its values become keys.
    std::optional<char> separator;  // Between two values, if all that is read of it are lists.
  };
  static std::map<uint32_t, Use> UsesOf(const v1::DataSpec& data);

  v1::DataSpec data_;  // The job's data, read as text.
  Vocabularies vocabularies_;
  v1::Loss loss_;
  uint32_t outputs_;
  bool images_;
  std::map<std::string, uint32_t> columns_;  // Columns by their name or number.
  std::map<uint32_t, Use> uses_;             // By column.
  std::vector<Input> inputs_;
};

}  // namespace capstan::cli

#endif  // CAPSTAN_CLI_SERVE_SERVED_INPUTS_H_
