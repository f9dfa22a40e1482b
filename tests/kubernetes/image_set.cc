// image_set FOLDER SPLIT IMAGES SIDE CLASSES FILES   makes FOLDER/SPLIT-00000.tar ... : as many
// JPEGs as said, SIDE pixels wide and high, in the layout of webdataset, spread evenly over so many
// files. Every image differs from all others. Its class is the direction of the stripes in it,
// which noise and shifts hide from anything simpler than a convolution.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <numbers>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"
#include "tests/unit/data/sample_files.h"
#include "tests/unit/image/encode.h"

namespace capstan {
namespace {

constexpr double kPeriod = 11;    // Pixels from one stripe to the next.
constexpr double kContrast = 60;  // Of the stripes, of 255.
constexpr int kNoise = 100;       // Of each pixel, upwards and downwards.
constexpr int kQuality = 99;      // Of the JPEGs: nearly all of the noise is kept.

struct ImageSet {
  std::string folder;
  std::string split;
  uint32_t images = 0;
  uint32_t side = 0;
  uint32_t classes = 0;
  uint32_t files = 0;
};

Pixels Stripes(uint32_t side, double angle, std::mt19937_64& draw) {
  std::uniform_real_distribution<double> any_phase(0, 2 * std::numbers::pi);
  std::uniform_int_distribution<int> noise(-kNoise, kNoise);
  const double phase = any_phase(draw);
  const double across = 2 * std::numbers::pi / kPeriod * std::cos(angle);
  const double down = 2 * std::numbers::pi / kPeriod * std::sin(angle);
  Pixels pixels{{side, side}, 3, {}};
  for (uint32_t y = 0; y < side; ++y) {
    for (uint32_t x = 0; x < side; ++x) {
      const double stripe = kContrast * std::sin(across * x + down * y + phase);
      for (int channel = 0; channel < 3; ++channel) {
        const int value = 128 + static_cast<int>(stripe) + noise(draw);
        pixels.bytes.push_back(static_cast<uint8_t>(std::clamp(value, 0, 255)));
      }
    }
  }
  return pixels;
}

// Images number `file`, `file` + files, ... of the set.
bool WriteFile(const ImageSet& set, uint32_t file) {
  const std::string path = absl::StrFormat("%s/%s-%05d.tar", set.folder, set.split, file);
  std::ofstream out(path, std::ios::binary);
  for (uint32_t image = file; image < set.images; image += set.files) {
    std::vector<uint32_t> words(set.split.begin(), set.split.end());
    words.push_back(image);
    std::seed_seq seed(words.begin(), words.end());
    std::mt19937_64 draw(seed);
    const uint32_t label = image / set.files % set.classes;
    const double angle = std::numbers::pi * label / set.classes;
    const std::string name = absl::StrFormat("%07d", image);
    out << TarMember(name + ".jpg", EncodeJpeg(Stripes(set.side, angle, draw), false, kQuality))
        << TarMember(name + ".cls", std::to_string(label));
  }
  out << TarEnd() << std::flush;
  if (!out) std::fprintf(stderr, "%s: cannot be written\n", path.c_str());
  return static_cast<bool>(out);
}

bool Read(const char* text, uint32_t& number) {
  return absl::SimpleAtoi(text, &number) && number > 0;
}

int Main(int argc, char** argv) {
  ImageSet set;
  if (argc != 7 || !Read(argv[3], set.images) || !Read(argv[4], set.side) ||
      !Read(argv[5], set.classes) || !Read(argv[6], set.files)) {
    std::fprintf(stderr, "usage: image_set FOLDER SPLIT IMAGES SIDE CLASSES FILES\n");
    return 2;
  }
  set.folder = argv[1];
  set.split = argv[2];
  for (uint32_t file = 0; file < set.files; ++file) {
    if (!WriteFile(set, file)) return 1;
  }
  return 0;
}

}  // namespace
}  // namespace capstan

int main(int argc, char** argv) { return capstan::Main(argc, argv); }
