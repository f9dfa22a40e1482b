// The candidates from which data.negatives draws: a file with one per line.
//
//   file  = { line "\n" }
//   line  = id [ ( "\t" | "," ) weight ]
//
// An id is a value of the feature, as in its cells. Spaces around ids and weights are ignored. A
// weight is a number above 0; either all lines have one or none has. In a line with tabs the weight
// is after the last tab, otherwise after the last comma.
#ifndef CAPSTAN_DATA_TASKS_CANDIDATES_H_
#define CAPSTAN_DATA_TASKS_CANDIDATES_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "capstan/data/formats/alias_table.h"
#include "capstan/data/formats/batch.h"
#include "capstan/data/formats/source.h"
#include "capstan/v1/job.pb.h"

namespace capstan {

// Files with more candidates are refused: each candidate takes 20 bytes of a worker's memory, and
// some 60 while the file is read.
inline constexpr uint64_t kMostCandidates = 10'000'000;

// The candidates of a job, and how often each is drawn. Immutable, hence thread-safe.
class Candidates {
 public:
  // Reads the whole file of data.negatives. INVALID_ARGUMENT, with file and line: a line is not a
  // candidate, an id occurs twice, the file has no candidates or more than `most`; or `data` has no
  // feature with the name in data.negatives. Other errors are those of `source`.
  static absl::StatusOr<Candidates> Read(const Source& source, const v1::DataSpec& data,
                                         uint64_t most = kMostCandidates);

  size_t size() const { return keys_.size(); }
  uint32_t crc32c() const { return crc32c_; }  // The checksum of the file's text.

  // Replaces batch.negatives by the negatives of batch `k` of a task. They are a pure function of
  // the candidates, the job's seed, `stream`, which identifies the task and its epoch, and `k`.
  void Draw(uint64_t seed, uint64_t stream, uint64_t k, Batch& batch) const;

 private:
  struct Uses {
    size_t feature;  // The index of the feature in data.features.
    bool many;       // A record may have any number of keys of the feature.
    uint32_t per_batch;
  };
  Candidates(std::vector<uint64_t> keys, const std::vector<double>& shares, Uses uses,
             uint32_t crc32c);

  // Returns the logarithm of the share of `key` in all draws. A key that is not a candidate gets
  // the share of the rarest candidate, so that scores corrected by the share stay finite.
  float LogShareOf(uint64_t key) const;

  std::vector<uint64_t> keys_;     // In ascending order.
  std::vector<float> log_shares_;  // For each key the logarithm of its share in all draws.
  float rarest_ = 0;               // The smallest of log_shares_.
  AliasTable table_;
  Uses uses_;
  uint32_t crc32c_;
};

// Reads the file of data.negatives and sets data.negatives.candidates, their number, and
// data.negatives.crc32c, by which workers verify that they read the same file. Errors as for
// Candidates::Read.
absl::Status DeriveNegatives(const Source& source, v1::DataSpec& data);

// Reads the candidates that DeriveNegatives has read before. FAILED_PRECONDITION: the checksum of
// the file is not data.negatives.crc32c any more. Other errors as for Candidates::Read.
absl::StatusOr<Candidates> ReadKnownCandidates(const Source& source, const v1::DataSpec& data);

}  // namespace capstan

#endif  // CAPSTAN_DATA_TASKS_CANDIDATES_H_
