#include "capstan/data/formats/vocabulary.h"

#include <map>
#include <span>

#include "absl/strings/str_cat.h"
#include "capstan/base/absl_view.h"
#include "capstan/base/crc32c.h"
#include "capstan/base/status.h"
#include "capstan/data/formats/compression.h"
#include "capstan/data/formats/listed_file.h"

namespace capstan {
namespace {

std::string TextsOf(const v1::FeatureSpec& feature) {
  return absl::StrCat("the texts of data.features.", feature.name());
}

// Returns what is wrong with a line, independent of other lines; empty if nothing is.
std::string WhyNoText(const ListedLine& line, const VocabularyLimits& limits) {
  if (line.carriage_return) return "ends with CR LF; expected LF alone, as dos2unix makes it";
  if (line.text.empty()) return "is empty, expected a text";
  if (line.text.size() > limits.text_bytes) {
    return absl::StrCat("is a text of ", line.text.size(), " bytes; expected at most ",
                        limits.text_bytes);
  }
  if (line.number > limits.texts) {
    return absl::StrCat("is one text too many; expected at most ", limits.texts);
  }
  return "";
}

}  // namespace

absl::StatusOr<Vocabulary> Vocabulary::Read(const Source& source, const std::string& file,
                                            const VocabularyLimits& limits) {
  Places places;
  uint64_t bytes = 0;
  const auto take = [&](const ListedLine& line, std::string& error) {
    error = WhyNoText(line, limits);
    bytes += line.text.size();
    if (error.empty() && bytes > limits.bytes) {
      error = absl::StrCat("so far the texts have ", bytes, " bytes; expected at most ",
                           limits.bytes, " of all of them");
    }
    if (!error.empty()) return false;
    const auto place = static_cast<uint32_t>(line.number - 1);
    const auto [found, added] = places.try_emplace(AbslView(line.text), place);
    if (!added) {
      error = absl::StrCat("is the text of line ", found->second + 1,
                           " again; expected each text once");
    }
    return added;
  };
  CAPSTAN_ASSIGN_OR_RETURN(const uint32_t crc32c, ReadListedFile(source, file, take));
  if (!places.empty()) return Vocabulary(std::move(places), crc32c);
  return absl::InvalidArgumentError(absl::StrCat(file, ": is empty, expected a text a line"));
}

std::optional<uint64_t> Vocabulary::Find(std::string_view text) const {
  const auto found = places_.find(AbslView(text));
  if (found == places_.end()) return std::nullopt;
  return found->second;
}

absl::StatusOr<std::shared_ptr<const Vocabulary>> ReadVocabulary(const Source& source,
                                                                 const v1::FeatureSpec& feature) {
  if (!feature.has_vocabulary()) return nullptr;
  const v1::VocabularySpec& spec = feature.vocabulary();
  CAPSTAN_ASSIGN_OR_RETURN(Vocabulary found, Vocabulary::Read(source, spec.file()));
  if (spec.entries() > 0) {
    CAPSTAN_RETURN_IF_ERROR(
        CheckUnchanged(spec.file(), TextsOf(feature), found.crc32c(), spec.crc32c()));
  }
  return std::make_shared<const Vocabulary>(std::move(found));
}

absl::Status DeriveVocabularies(const Source& source, v1::DataSpec& data) {
  for (v1::FeatureSpec& feature : *data.mutable_features()) {
    CAPSTAN_ASSIGN_OR_RETURN(const std::shared_ptr<const Vocabulary> found,
                             ReadVocabulary(source, feature));
    if (found == nullptr) continue;
    feature.mutable_vocabulary()->set_crc32c(found->crc32c());
    feature.mutable_vocabulary()->set_entries(found->size());
  }
  return absl::OkStatus();
}

absl::StatusOr<Vocabularies> ReadKnownVocabularies(const Source& source, const v1::DataSpec& data) {
  Vocabularies vocabularies;
  std::map<std::string, std::shared_ptr<const Vocabulary>> of_file;
  for (const v1::FeatureSpec& feature : data.features()) {
    std::shared_ptr<const Vocabulary>& known = of_file[feature.vocabulary().file()];
    if (known == nullptr) {
      CAPSTAN_ASSIGN_OR_RETURN(known, ReadVocabulary(source, feature));
    }
    vocabularies.push_back(known);
  }
  return vocabularies;
}

absl::StatusOr<std::string> ReadVocabularyText(const Source& source,
                                               const v1::FeatureSpec& feature) {
  const v1::VocabularySpec& spec = feature.vocabulary();
  CAPSTAN_ASSIGN_OR_RETURN(const std::unique_ptr<ByteStream> contents,
                           OpenContents(source, spec.file()));
  constexpr size_t kPiece = size_t{1} << 20;
  const uint64_t most = VocabularyLimits().bytes + VocabularyLimits().texts;
  std::string text;
  for (size_t read = 1; read > 0 && text.size() <= most;) {
    const size_t before = text.size();
    text.resize(before + kPiece);
    CAPSTAN_ASSIGN_OR_RETURN(read, contents->Read(std::span(text).subspan(before)));
    text.resize(before + read);
  }
  CAPSTAN_RETURN_IF_ERROR(
      CheckUnchanged(spec.file(), TextsOf(feature), Crc32c(text), spec.crc32c()));
  return text;
}

}  // namespace capstan
