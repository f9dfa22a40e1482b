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

// What is larger is refused: each text takes its bytes and some 60 more of a worker.
struct VocabularyLimits {
  uint64_t texts = 1'000'000;
  uint64_t text_bytes = 1000;            // The most bytes of one text.
  uint64_t bytes = uint64_t{128} << 20;  // The most bytes of all texts.
};

// Immutable, hence thread-safe.
class Vocabulary {
 public:
  // INVALID_ARGUMENT, with file and line: a line is no text, or too long, a text comes twice, there
  // are none or too many. Otherwise errors as Source's.
  static absl::StatusOr<Vocabulary> Read(const Source& source, const std::string& file,
                                         const VocabularyLimits& limits = {});

  size_t size() const { return places_.size(); }
  uint32_t crc32c() const { return crc32c_; }  // The checksum of the file's text.
  // The place of a text in the file; nothing: it is not there.
  std::optional<uint64_t> Find(std::string_view text) const;

 private:
  using Places = absl::flat_hash_map<std::string, uint32_t>;
  Vocabulary(Places places, uint32_t crc32c) : places_(std::move(places)), crc32c_(crc32c) {}

  Places places_;
  uint32_t crc32c_;
};

// One for each of data.features, null where it has none. Owned by whoever has read them and by all
// rules of features that look texts up.
using Vocabularies = std::vector<std::shared_ptr<const Vocabulary>>;

// That of a feature; null: it has none. FAILED_PRECONDITION: a job has begun with it, and its file
// has changed since.
absl::StatusOr<std::shared_ptr<const Vocabulary>> ReadVocabulary(const Source& source,
                                                                 const v1::FeatureSpec& feature);

// Says in data.features how many texts their files have, and the checksums by which workers know
// them. Errors as of Vocabulary::Read.
absl::Status DeriveVocabularies(const Source& source, v1::DataSpec& data);

// Those of all features, a file once. Errors as of ReadVocabulary.
absl::StatusOr<Vocabularies> ReadKnownVocabularies(const Source& source, const v1::DataSpec& data);

// The text of the file of a feature's vocabulary, for a copy. FAILED_PRECONDITION: it has changed
// since the job began.
absl::StatusOr<std::string> ReadVocabularyText(const Source& source,
                                               const v1::FeatureSpec& feature);

}  // namespace capstan

#endif  // CAPSTAN_DATA_FORMATS_VOCABULARY_H_
