#include "capstan/data/tasks/candidates.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "capstan/base/hash.h"
#include "capstan/base/status.h"
#include "capstan/data/formats/feature_rule.h"
#include "capstan/data/formats/listed_file.h"
#include "capstan/data/formats/numbers.h"
#include "capstan/data/formats/quote.h"
#include "capstan/data/formats/vocabulary.h"

namespace capstan {
namespace {

constexpr uint64_t kNegativesSeedSalt =
    0x4E45'4741'5449'5645;  // Distinct from other uses of the seed.

struct Candidate {
  uint64_t key;
  double share;   // Relative to the shares of the other candidates.
  uint64_t line;  // From 1.
};

// Returns the index in data.features of the feature that data.negatives names.
absl::StatusOr<int> PlaceOf(const v1::DataSpec& data) {
  const std::string& name = data.negatives().feature();
  for (int i = 0; i < data.features_size(); ++i) {
    if (data.features(i).name() == name) return i;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("data.negatives.feature: ", Quote(name), " is none of data.features"));
}

// Parses one line after the other.
class CandidateParser {
 public:
  // `spec` must outlive this object.
  CandidateParser(const v1::NegativeSpec& spec, FeatureRule rule, uint64_t most)
      : spec_(spec), rule_(std::move(rule)), most_(most) {}

  // If it returns false, `error` says what was expected.
  bool Append(const ListedLine& listed, std::string& error) {
    std::string_view line = listed.text;
    line_ = listed.number;
    if (found_.size() == most_) {
      error = absl::StrCat("one candidate too many; expected at most ", most_);
      return false;
    }
    if (Trim(line).empty()) {
      error = "is empty, expected an id, and perhaps a weight behind a tab or a comma";
      return false;
    }
    double weight = 1;
    if (!TakeWeight(line, weight, error)) return false;
    keys_.clear();
    const std::string_view id = Trim(line);
    if (id.empty()) {
      error = "has no id in front of its weight";
      return false;
    }
    if (!rule_.AppendOne(id, keys_, error)) return false;
    found_.push_back({.key = keys_.front(), .share = ShareOf(weight), .line = line_});
    return true;
  }

  std::vector<Candidate> TakeFound() { return std::move(found_); }

 private:
  // Removes the weight from the line, if the lines have weights.
  bool TakeWeight(std::string_view& line, double& weight, std::string& error) {
    size_t separator = line.rfind('\t');
    if (separator == line.npos) separator = line.rfind(',');
    const bool weighted = separator != line.npos;
    if (line_ == 1) weighted_ = weighted;
    if (weighted != weighted_) {
      error = weighted ? "has a weight, and the first line has none; expected all or none to"
                       : "has no weight, and the first line has one; expected all or none to";
      return false;
    }
    if (!weighted) return true;
    const std::string_view text = Trim(line.substr(separator + 1));
    float number = 0;
    if (!ParseFloat(text, number) || !(number > 0)) {
      error = absl::StrCat("weight ", Quote(text), " is not a number above 0");
      return false;
    }
    weight = number;
    line = line.substr(0, separator);
    return true;
  }

  double ShareOf(double weight) const {
    const double place = static_cast<double>(line_);
    const bool by_place = spec_.share() == v1::CANDIDATE_SHARE_LOG_UNIFORM;
    return std::pow(by_place ? std::log1p(1 / place) : weight, spec_.distortion());
  }

  const v1::NegativeSpec& spec_;
  const FeatureRule rule_;
  const uint64_t most_;
  bool weighted_ = false;
  uint64_t line_ = 0;
  std::vector<uint64_t> keys_;
  std::vector<Candidate> found_;
};

// Sorts the candidates by key. With `shared`, several ids may have the same key (because of
// buckets, or as texts that a vocabulary does not contain), and candidates with the same key become
// one whose share is the sum of theirs. Otherwise an id that occurs twice is INVALID_ARGUMENT.
absl::Status SortByKey(const std::string& file, bool shared, std::vector<Candidate>& found) {
  std::sort(found.begin(), found.end(), [](const Candidate& a, const Candidate& b) {
    return a.key != b.key ? a.key < b.key : a.line < b.line;
  });
  size_t kept = 0;
  for (size_t i = 1; i < found.size(); ++i) {
    if (found[i].key != found[kept].key) {
      found[++kept] = found[i];
    } else if (shared) {
      found[kept].share += found[i].share;
    } else {
      return absl::InvalidArgumentError(absl::StrCat(file, ":", found[i].line,
                                                     ": is the id of line ", found[kept].line,
                                                     " again; expected each id once"));
    }
  }
  found.resize(kept + 1);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Candidates> Candidates::Read(const Source& source, const v1::DataSpec& data,
                                            uint64_t most) {
  CAPSTAN_ASSIGN_OR_RETURN(const int place, PlaceOf(data));
  const v1::FeatureSpec& feature = data.features(place);
  const std::string& file = data.negatives().file();
  CAPSTAN_ASSIGN_OR_RETURN(std::shared_ptr<const Vocabulary> vocabulary,
                           ReadVocabulary(source, feature));
  CandidateParser parser(data.negatives(), FeatureRule(feature, std::move(vocabulary)), most);
  CAPSTAN_ASSIGN_OR_RETURN(
      const uint32_t crc32c,
      ReadListedFile(source, file, [&parser](const ListedLine& line, std::string& error) {
        return parser.Append(line, error);
      }));
  std::vector<Candidate> found = parser.TakeFound();
  if (found.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(file, ": is empty, expected an id a line"));
  }
  const bool shared = feature.buckets() > 0 || feature.has_vocabulary();
  CAPSTAN_RETURN_IF_ERROR(SortByKey(file, shared, found));
  std::vector<uint64_t> keys;
  std::vector<double> shares;
  keys.reserve(found.size());
  shares.reserve(found.size());
  for (const Candidate& candidate : found) {
    keys.push_back(candidate.key);
    shares.push_back(candidate.share);
  }
  return Candidates(std::move(keys), shares,
                    {.feature = static_cast<size_t>(place),
                     .many = feature.many(),
                     .per_batch = data.negatives().per_batch()},
                    crc32c);
}

Candidates::Candidates(std::vector<uint64_t> keys, const std::vector<double>& shares, Uses uses,
                       uint32_t crc32c)
    : keys_(std::move(keys)), table_(shares), uses_(uses), crc32c_(crc32c) {
  const double sum = std::accumulate(shares.begin(), shares.end(), 0.0);
  log_shares_.reserve(shares.size());
  for (const double share : shares) {
    log_shares_.push_back(static_cast<float>(std::log(share / sum)));
  }
  rarest_ = *std::min_element(log_shares_.begin(), log_shares_.end());
}

float Candidates::LogShareOf(uint64_t key) const {
  const auto found = std::lower_bound(keys_.begin(), keys_.end(), key);
  if (found == keys_.end() || *found != key) return rarest_;
  return log_shares_[static_cast<size_t>(found - keys_.begin())];
}

void Candidates::Draw(uint64_t seed, uint64_t stream, uint64_t k, Batch& batch) const {
  Negatives& drawn = batch.negatives;
  drawn.feature = uses_.feature;
  drawn.keys.clear();
  drawn.log_shares.clear();
  drawn.record_log_shares.clear();
  for (uint64_t i = 0; i < uses_.per_batch; ++i) {
    const uint64_t bits =
        capstan::Draw(seed ^ kNegativesSeedSalt, stream, k * uint64_t{uses_.per_batch} + i);
    const size_t chosen = table_.Choose(bits);
    drawn.keys.push_back(keys_[chosen]);
    drawn.log_shares.push_back(log_shares_[chosen]);
  }
  if (uses_.many) return;
  for (size_t example = 0; example < batch.examples(); ++example) {
    const auto own = batch.features[uses_.feature].KeysOf(example);
    drawn.record_log_shares.push_back(own.empty() ? rarest_ : LogShareOf(own.front()));
  }
}

absl::Status DeriveNegatives(const Source& source, v1::DataSpec& data) {
  CAPSTAN_ASSIGN_OR_RETURN(const Candidates candidates, Candidates::Read(source, data));
  data.mutable_negatives()->set_crc32c(candidates.crc32c());
  data.mutable_negatives()->set_candidates(candidates.size());
  return absl::OkStatus();
}

absl::StatusOr<Candidates> ReadKnownCandidates(const Source& source, const v1::DataSpec& data) {
  CAPSTAN_ASSIGN_OR_RETURN(Candidates candidates, Candidates::Read(source, data));
  CAPSTAN_RETURN_IF_ERROR(CheckUnchanged(data.negatives().file(),
                                         "the candidates of data.negatives", candidates.crc32c(),
                                         data.negatives().crc32c()));
  return candidates;
}

}  // namespace capstan
