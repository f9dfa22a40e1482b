// The texts of features with kind: vocabulary, which have keys of their own: a file with one text
// per line, of which the text in line k, from 0, has the key k.
//
//   file  = line { line }
//   line  = text "\n"
//
// A text is the exact content of a cell, including spaces; no two are equal, and none is empty. The
// last
// "\n" may be missing.
#ifndef CAPSTAN_DATA_FORMATS_VOCABULARY_H_
#define CAPSTAN_DATA_FORMATS_VOCABULARY_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "capstan/data/formats/source.h"
#include "capstan/v1/job.pb.h"

namespace capstan {

// Larger vocabularies are refused: each text takes its own bytes plus some 60 bytes of a worker's
// memory.
struct VocabularyLimits {
  uint64_t texts = 1'000'000;
  uint64_t text_bytes = 1000;            // The largest size of one text.
  uint64_t bytes = uint64_t{128} << 20;  // The largest total size of all texts.
};

// Immutable, hence thread-safe.
class Vocabulary {
 public:
  // Reads a whole file. INVALID_ARGUMENT, with file and line: a line is empty, too long or ends
  // with CR LF, a text occurs twice, or there are no texts or too many. Other errors are those of
  // `source`.
  static absl::StatusOr<Vocabulary> Read(const Source& source, const std::string& file,
                                         const VocabularyLimits& limits = {});

  size_t size() const { return places_.size(); }
  uint32_t crc32c() const { return crc32c_; }  // The checksum of the file's text.
  // Returns the line number of a text in the file, from 0; nullopt if the file does not contain it.
  std::optional<uint64_t> Find(std::string_view text) const;

 private:
  using Places = absl::flat_hash_map<std::string, uint32_t>;
  Vocabulary(Places places, uint32_t crc32c) : places_(std::move(places)), crc32c_(crc32c) {}

  Places places_;
  uint32_t crc32c_;
};

// One vocabulary for each feature in data.features; null if the feature has none. Shared by the
// reader of the data and by all FeatureRules that look texts up.
using Vocabularies = std::vector<std::shared_ptr<const Vocabulary>>;

// Reads the vocabulary of a feature; null if it has none. FAILED_PRECONDITION: the file has changed
// since DeriveVocabularies read it when the job began.
absl::StatusOr<std::shared_ptr<const Vocabulary>> ReadVocabulary(const Source& source,
                                                                 const v1::FeatureSpec& feature);

// Sets in data.features how many texts their vocabularies have, and the checksums by which workers
// verify that they read the same files. Errors as for Vocabulary::Read.
absl::Status DeriveVocabularies(const Source& source, v1::DataSpec& data);

// Reads the vocabularies of all features; a file that several features share is read once. Errors
// as for ReadVocabulary.
absl::StatusOr<Vocabularies> ReadKnownVocabularies(const Source& source, const v1::DataSpec& data);

// Returns the whole text of the file of a feature's vocabulary, to be copied. FAILED_PRECONDITION:
// the file has changed since the job began.
absl::StatusOr<std::string> ReadVocabularyText(const Source& source,
                                               const v1::FeatureSpec& feature);

}  // namespace capstan

#endif  // CAPSTAN_DATA_FORMATS_VOCABULARY_H_
