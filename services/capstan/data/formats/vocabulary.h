// The texts that have keys of their own, of features with kind: vocabulary: a file with a text a
// line, of which the one in line k, from 0, has the key k.
//
//   file  = line { line }
//   line  = text "\n"
//
// A text is what a cell holds, spaces included; no two are equal, and none is empty. The last "\n"
// may be missing.
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

// Larger vocabularies are refused: each text takes its own bytes and some 60 more of a worker's
// memory.
struct VocabularyLimits {
  uint64_t texts = 1'000'000;
  uint64_t text_bytes = 1000;            // The most bytes of one text.
  uint64_t bytes = uint64_t{128} << 20;  // The most bytes of all texts.
};

// Immutable, hence thread-safe.
class Vocabulary {
 public:
  // Reads a whole file. INVALID_ARGUMENT, with file and line: a line is empty, too long or ends
  // with CR LF, a text comes twice, or there are no texts or too many. Other errors are those of
  // `source`.
  static absl::StatusOr<Vocabulary> Read(const Source& source, const std::string& file,
                                         const VocabularyLimits& limits = {});

  size_t size() const { return places_.size(); }
  uint32_t crc32c() const { return crc32c_; }  // The checksum of the file's text.
  // Returns the place of a text in the file, from 0; nothing: the file does not have it.
  std::optional<uint64_t> Find(std::string_view text) const;

 private:
  using Places = absl::flat_hash_map<std::string, uint32_t>;
  Vocabulary(Places places, uint32_t crc32c) : places_(std::move(places)), crc32c_(crc32c) {}

  Places places_;
  uint32_t crc32c_;
};

// One vocabulary for each of data.features; null: the feature has none. Owned by the reader of the
// data and by all FeatureRules that look texts up.
using Vocabularies = std::vector<std::shared_ptr<const Vocabulary>>;

// Reads the vocabulary of a feature; null: it has none. FAILED_PRECONDITION: the file is not the
// one that DeriveVocabularies has seen when the job began.
absl::StatusOr<std::shared_ptr<const Vocabulary>> ReadVocabulary(const Source& source,
                                                                 const v1::FeatureSpec& feature);

// Sets in data.features how many texts their vocabularies have, and the checksums by which workers
// check that they read the same files. Errors as of Vocabulary::Read.
absl::Status DeriveVocabularies(const Source& source, v1::DataSpec& data);

// Reads the vocabularies of all features; a file that several share is read once. Errors as of
// ReadVocabulary.
absl::StatusOr<Vocabularies> ReadKnownVocabularies(const Source& source, const v1::DataSpec& data);

// Returns the whole text of the file of a feature's vocabulary, to be copied. FAILED_PRECONDITION:
// the file has changed since the job began.
absl::StatusOr<std::string> ReadVocabularyText(const Source& source,
                                               const v1::FeatureSpec& feature);

}  // namespace capstan

#endif  // CAPSTAN_DATA_FORMATS_VOCABULARY_H_
