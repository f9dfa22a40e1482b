// Keeps every place at which decompression could be restarted, and restarts it there.
#ifndef CAPSTAN_TESTS_UNIT_DATA_FORMATS_KEPT_POINTS_H_
#define CAPSTAN_TESTS_UNIT_DATA_FORMATS_KEPT_POINTS_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "capstan/data/formats/compression.h"
#include "tests/unit/data/files.h"

namespace capstan {

class KeptPoints : public RestartKeeper {
 public:
  bool Wants(uint64_t) const override { return true; }
  void Keep(RestartPoint point) override { points.push_back(std::move(point)); }

  std::vector<RestartPoint> points;
};

// NewGzipStream or NewZstdStream.
using NewDecompressor = std::unique_ptr<ByteStream> (*)(std::string path,
                                                        std::unique_ptr<ByteStream> compressed,
                                                        const RestartPoint& from,
                                                        RestartKeeper* keeper);

// Reads `file`, whose content is `text`, and expects the rest of the text from every point that it
// is told of on. Returns the points.
inline std::vector<RestartPoint> ExpectRestTextAtEachPoint(NewDecompressor open,
                                                           const std::string& file,
                                                           const std::string& text) {
  KeptPoints kept;
  EXPECT_EQ(*ReadAll(*open("file", NewTextStream(file, /*piece=*/1 << 16), {}, &kept)), text);
  for (const RestartPoint& point : kept.points) {
    EXPECT_EQ(point.before,
              file.substr(point.stored - RestartPoint::kBefore, RestartPoint::kBefore));
    const auto rest =
        open("file", NewTextStream(file.substr(point.stored), /*piece=*/1 << 16), point, nullptr);
    EXPECT_EQ(*ReadAll(*rest), text.substr(point.content)) << point.content;
  }
  return kept.points;
}

// So many multiples of a number, a line each.
inline std::string SomeLines(int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += std::to_string(i * 7919) + "\n";
  return text;
}

}  // namespace capstan

#endif  // CAPSTAN_TESTS_UNIT_DATA_FORMATS_KEPT_POINTS_H_
