#include "capstan/image/fit.h"

#include <algorithm>
#include <cmath>

#include "capstan/base/check.h"
#include "capstan/base/hash.h"

namespace capstan {
namespace {

constexpr uint32_t kShareBits = 16;
constexpr uint32_t kWhole = uint32_t{1} << kShareBits;
constexpr uint64_t kAreaParts = 10'000;
constexpr uint64_t kLeastArea = 800;  // The smallest area of a crop, in kAreaParts.
constexpr uint64_t kRatioParts = 1200;
constexpr uint64_t kLeastRatio = 900;  // 3/4 of kRatioParts.
constexpr uint64_t kMostRatio = 1600;  // 4/3.
constexpr int kAttempts = 10;

uint64_t RootOf(uint64_t square) {
  uint64_t root = 0;
  for (uint64_t bit = uint64_t{1} << 31; bit > 0; bit >>= 1) {
    const uint64_t larger = root | bit;
    if (larger * larger <= square) root = larger;
  }
  return root;
}

}  // namespace

ImageRect CentreRect(ImageSize size, ImageSize wanted) {
  const uint64_t wide = uint64_t{size.width} * wanted.height;
  const uint64_t high = uint64_t{size.height} * wanted.width;
  ImageSize cut = size;
  if (wide > high) {
    cut.width = std::max<uint32_t>(1, static_cast<uint32_t>(high / wanted.height));
  } else {
    cut.height = std::max<uint32_t>(1, static_cast<uint32_t>(wide / wanted.width));
  }
  return {(size.width - cut.width) / 2, (size.height - cut.height) / 2, cut};
}

ImageRect RandomRect(ImageSize size, ImageSize wanted, uint64_t draw) {
  for (uint64_t attempt = 0; attempt < kAttempts; ++attempt) {
    const auto drawn = [&](uint64_t of, uint64_t values) {
      return Draw(draw, attempt, of) % values;
    };
    const uint64_t area = uint64_t{size.width} * size.height *
                          (kLeastArea + drawn(0, kAreaParts - kLeastArea + 1)) / kAreaParts;
    // A ratio or its inverse, so that crops are as often wider as they are narrower.
    uint64_t up = kRatioParts + drawn(1, kMostRatio - kRatioParts + 1);
    uint64_t down = kRatioParts;
    if (drawn(2, 2) == 1) std::swap(up, down);
    static_assert(kRatioParts * kRatioParts / kMostRatio == kLeastRatio);
    const uint64_t width = RootOf(area * up / down * wanted.width / wanted.height);
    if (width == 0) continue;
    const uint64_t height = area / width;
    if (height == 0 || width > size.width || height > size.height) continue;
    return {static_cast<uint32_t>(drawn(3, size.width - width + 1)),
            static_cast<uint32_t>(drawn(4, size.height - height + 1)),
            {static_cast<uint32_t>(width), static_cast<uint32_t>(height)}};
  }
  return CentreRect(size, wanted);
}

// Pixel i of the `to` pixels has its centre at (2 i + 1) from / (2 to), and is computed from all
// pixels whose centres are nearer to it than `reach`. All distances are in half pixels, times `to`.
void ImageScaler::Weigh(uint32_t from, uint32_t to, Weights& weights) {
  weights.first.clear();
  weights.begin.assign(1, 0);
  weights.shares.clear();
  const int64_t reach = int64_t{2} * std::max(from, to);
  for (int64_t i = 0; i < to; ++i) {
    const int64_t centre = (2 * i + 1) * from;
    const int64_t low = std::max<int64_t>(0, (centre - reach) / (2 * int64_t{to}) - 1);
    const size_t begin = weights.shares.size();
    uint64_t sum = 0;
    for (int64_t j = low; j < from && (2 * j + 1) * to < centre + reach; ++j) {
      const int64_t distance = std::abs((2 * j + 1) * to - centre);
      if (distance >= reach) continue;
      if (weights.shares.size() == begin) weights.first.push_back(static_cast<uint32_t>(j));
      weights.shares.push_back(static_cast<uint32_t>(reach - distance));
      sum += static_cast<uint64_t>(reach - distance);
    }
    uint32_t left = kWhole;
    size_t largest = begin;
    for (size_t k = begin; k < weights.shares.size(); ++k) {
      if (weights.shares[k] > weights.shares[largest]) largest = k;
    }
    for (size_t k = begin; k < weights.shares.size(); ++k) {
      weights.shares[k] = static_cast<uint32_t>(uint64_t{weights.shares[k]} * kWhole / sum);
      left -= weights.shares[k];
    }
    weights.shares[largest] += left;
    weights.begin.push_back(static_cast<uint32_t>(weights.shares.size()));
  }
}

void ImageScaler::Scale(const Pixels& pixels, const ImageRect& rect, bool mirrored,
                        ImageSize wanted, std::span<uint8_t> to) {
  const uint32_t channels = pixels.channels;
  CAPSTAN_CHECK(to.size() == size_t{wanted.width} * wanted.height * channels);
  CAPSTAN_CHECK(rect.x + rect.size.width <= pixels.size.width &&
                rect.y + rect.size.height <= pixels.size.height);
  Weigh(rect.size.width, wanted.width, columns_);
  Weigh(rect.size.height, wanted.height, rows_);
  const size_t narrow_bytes = size_t{wanted.width} * channels;
  narrow_.resize(rect.size.height * narrow_bytes);
  for (uint32_t y = 0; y < rect.size.height; ++y) {
    const uint8_t* const from =
        pixels.bytes.data() + (rect.y + y) * pixels.row_bytes() + size_t{rect.x} * channels;
    uint8_t* const row = narrow_.data() + y * narrow_bytes;
    for (uint32_t x = 0; x < wanted.width; ++x) {
      const uint32_t count = columns_.begin[x + 1] - columns_.begin[x];
      const uint32_t* const shares = columns_.shares.data() + columns_.begin[x];
      const uint8_t* const first = from + size_t{columns_.first[x]} * channels;
      const uint32_t place = mirrored ? wanted.width - 1 - x : x;
      for (uint32_t c = 0; c < channels; ++c) {
        uint32_t sum = kWhole / 2;
        for (uint32_t k = 0; k < count; ++k) sum += shares[k] * first[k * channels + c];
        row[place * channels + c] = static_cast<uint8_t>(sum >> kShareBits);
      }
    }
  }
  std::vector<uint32_t> sums(narrow_bytes);
  for (uint32_t y = 0; y < wanted.height; ++y) {
    std::fill(sums.begin(), sums.end(), kWhole / 2);
    for (uint32_t k = rows_.begin[y]; k < rows_.begin[y + 1]; ++k) {
      const uint32_t share = rows_.shares[k];
      const uint8_t* const row =
          narrow_.data() + (rows_.first[y] + k - rows_.begin[y]) * narrow_bytes;
      for (size_t i = 0; i < narrow_bytes; ++i) sums[i] += share * row[i];
    }
    for (size_t i = 0; i < narrow_bytes; ++i) {
      to[y * narrow_bytes + i] = static_cast<uint8_t>(sums[i] >> kShareBits);
    }
  }
}

}  // namespace capstan
