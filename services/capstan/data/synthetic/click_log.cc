#include "capstan/data/synthetic/click_log.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "capstan/base/hash.h"
#include "capstan/data/formats/field_key.h"

namespace capstan {
namespace {

constexpr uint32_t kVocabulary[] = {
    50,   50,   50,   50,    50,    50,    50,    50,    50,    50,     50,     50,     50,
    10,   20,   50,   100,   100,   200,   300,   500,   500,   1000,   1000,   2000,   2000,
    3000, 5000, 5000, 10000, 10000, 20000, 20000, 50000, 50000, 100000, 150000, 200000, 368570};

// Columns (from 1) whose values interact, so that a linear model cannot be as good as an FM.
constexpr std::pair<uint32_t, uint32_t> kPairs[] = {{14, 19}, {15, 21}, {16, 24}, {17, 20},
                                                    {18, 25}, {1, 14},  {2, 15},  {3, 22}};
constexpr uint64_t kLinearStream = 1000;
constexpr uint64_t kLatentStream = 2000;
constexpr uint32_t kLatentDim = 2;
constexpr double kLatentScale = 0.25;
constexpr double kBias = -2.2;
constexpr uint64_t kBlockRows = 1024;

// Approximately normal (0, 1): the sum of four uniform numbers.
double NearlyNormal(uint64_t seed, uint64_t stream, uint64_t index) {
  double sum = 0;
  for (uint64_t i = 0; i < 4; ++i) sum += Unit(Draw(seed, stream, index * 4 + i));
  return (sum - 2.0) * std::sqrt(3.0);
}

double LinearScale(uint32_t vocabulary) {
  return vocabulary <= 1000 ? 0.28 : vocabulary <= 20000 ? 0.2 : 0.08;
}

bool IsPaired(uint32_t number) {
  return std::any_of(std::begin(kPairs), std::end(kPairs),
                     [&](auto pair) { return pair.first == number || pair.second == number; });
}

}  // namespace

size_t ClickLogColumns(const v1::SyntheticSpec& spec) {
  return spec.vocabulary().empty() ? std::size(kVocabulary)
                                   : static_cast<size_t>(spec.vocabulary_size());
}

ClickLog::ClickLog(const v1::SyntheticSpec& spec)
    : seed_(spec.seed() != 0 ? spec.seed() : kClickLogSeed) {
  std::vector<uint32_t> vocabulary(spec.vocabulary().begin(), spec.vocabulary().end());
  if (vocabulary.empty()) vocabulary.assign(std::begin(kVocabulary), std::end(kVocabulary));
  for (uint32_t size : vocabulary) {
    columns_.push_back(MakeColumn(static_cast<uint32_t>(columns_.size()) + 1, std::max(1u, size)));
  }
}

ClickLog::Column ClickLog::MakeColumn(uint32_t number, uint32_t vocabulary) const {
  Column column = {.values = Zipf(vocabulary, number), .weights = {}, .latent = {}, .keys = {}};
  column.weights.resize(vocabulary);
  column.keys.resize(vocabulary);
  for (uint32_t value = 0; value < vocabulary; ++value) {
    column.weights[value] =
        LinearScale(vocabulary) * NearlyNormal(seed_, kLinearStream + number, value);
    column.keys[value] = FieldKey(number, absl::StrCat(value));
  }
  if (!IsPaired(number)) return column;
  column.latent.resize(vocabulary * kLatentDim);
  for (uint32_t value = 0; value < vocabulary; ++value) {
    for (uint32_t d = 0; d < kLatentDim; ++d) {
      column.latent[value * kLatentDim + d] =
          NearlyNormal(seed_, kLatentStream + 4 * number + d, value);
    }
  }
  return column;
}

void ClickLog::Generate(uint64_t first, uint64_t count, Rows& rows) const {
  const size_t width = columns();
  rows.values.resize(count * width);
  rows.logits.assign(count, kBias);
  rows.clicks.resize(count);
  for (uint64_t block = 0; block < count; block += kBlockRows) {
    const uint64_t end = std::min(count, block + kBlockRows);
    for (size_t c = 0; c < width; ++c) {
      const Column& column = columns_[c];
      for (uint64_t r = block; r < end; ++r) {
        const uint32_t value = column.values(Draw(seed_, c + 1, first + r));
        rows.values[r * width + c] = value;
        rows.logits[r] += column.weights[value];
      }
    }
    for (const auto& [a, b] : kPairs) {
      if (a > width || b > width) continue;
      for (uint64_t r = block; r < end; ++r) {
        const double* u = &columns_[a - 1].latent[rows.values[r * width + a - 1] * kLatentDim];
        const double* v = &columns_[b - 1].latent[rows.values[r * width + b - 1] * kLatentDim];
        for (uint32_t d = 0; d < kLatentDim; ++d) rows.logits[r] += kLatentScale * u[d] * v[d];
      }
    }
    for (uint64_t r = block; r < end; ++r) {
      const double probability = 1.0 / (1.0 + std::exp(-rows.logits[r]));
      rows.clicks[r] = Unit(Draw(seed_, /*stream=*/0, first + r)) < probability;
    }
  }
}

void ClickLog::AppendTo(uint64_t first, uint64_t count, Batch& records) const {
  Rows rows;
  for (uint64_t done = 0; done < count; done += kBlockRows) {
    const uint64_t n = std::min(kBlockRows, count - done);
    Generate(first + done, n, rows);
    for (uint64_t r = 0; r < n; ++r) {
      for (size_t c = 0; c < columns(); ++c) {
        records.keys.push_back(Key(c, rows.values[r * columns() + c]));
      }
      records.labels.push_back(rows.clicks[r]);
      records.offsets.push_back(static_cast<uint32_t>(records.keys.size()));
    }
  }
}

}  // namespace capstan
