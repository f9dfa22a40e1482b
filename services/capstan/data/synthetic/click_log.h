// The synthetic click log: deterministic rows with Zipf-distributed values and a planted model, so
// that the best possible AUC and logloss are known. Row r, column c (from 1): value zipf(draw(seed,
// c, r)); label drawn with the probability sigmoid(planted logit). Integer arithmetic except for
// three doubles, therefore the same on every machine with the same libm.
#ifndef CAPSTAN_DATA_SYNTHETIC_CLICK_LOG_H_
#define CAPSTAN_DATA_SYNTHETIC_CLICK_LOG_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "capstan/data/formats/batch.h"
#include "capstan/data/synthetic/zipf.h"
#include "capstan/v1/job.pb.h"

namespace capstan {

inline constexpr uint64_t kClickLogSeed = 20261121;
// Rows of the evaluation split are numbered from here, so that they share no draw with training.
inline constexpr uint64_t kClickLogEvalBase = uint64_t{1} << 40;

// Returns how many columns the log of `spec` has.
size_t ClickLogColumns(const v1::SyntheticSpec& spec);

// The generator. Tables are built once, in the constructor (about 0.1 s and 25 MB for the default
// columns). Immutable.
class ClickLog {
 public:
  // Seed 0 and an empty vocabulary mean the defaults: 13 + 26 columns, 1,000,000 keys.
  explicit ClickLog(const v1::SyntheticSpec& spec);

  size_t columns() const { return columns_.size(); }

  // Rows [first, first + count): their values row by row, and the planted logits.
  struct Rows {
    std::vector<uint32_t> values;  // count x columns()
    std::vector<double> logits;
    std::vector<uint8_t> clicks;
  };
  // Replaces `rows`, whose memory is reused. Works column by column within blocks, so that the
  // tables stay in the cache.
  void Generate(uint64_t first, uint64_t count, Rows& rows) const;

  // Returns the key of a value of a column (from 0): the same as when reading the CSV form with
  // `label: 0, categorical: "1-39"`.
  uint64_t Key(size_t column, uint32_t value) const { return columns_[column].keys[value]; }

  // Appends rows [first, first + count) to `records`.
  void AppendTo(uint64_t first, uint64_t count, Batch& records) const;

 private:
  struct Column {
    Zipf values;
    std::vector<double> weights;  // The contribution of each value to the planted logit.
    // Only for a column that interacts with another: kLatentDim factors for each value.
    std::vector<double> latent;
    std::vector<uint64_t> keys;
  };
  Column MakeColumn(uint32_t number, uint32_t vocabulary) const;

  uint64_t seed_;
  std::vector<Column> columns_;
};

// The best possible results on some rows: those of scoring with the planted logit.
struct Oracle {
  uint64_t rows = 0;
  double click_rate = 0;
  double auc = 0;
  double logloss = 0;
};

// Collects scored rows (16 bytes each) and computes the results on them. Thread-compatible.
class OracleSums {
 public:
  void Add(double logit, bool click);
  Oracle Finish() &&;

 private:
  std::vector<std::pair<double, bool>> scores_;
  double logloss_ = 0;
};

Oracle BestPossible(const ClickLog& log, uint64_t first_row, uint64_t rows);

// Writes rows as CSV: label, then the values; no header. Returns the best possible results on them.
// An existing file is replaced.
absl::StatusOr<Oracle> WriteClickLog(const ClickLog& log, uint64_t first_row, uint64_t rows,
                                     const std::string& path);

}  // namespace capstan

#endif  // CAPSTAN_DATA_SYNTHETIC_CLICK_LOG_H_
