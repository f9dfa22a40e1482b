#include "tests/unit/data/any_bytes.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "capstan/base/hash.h"
#include "tests/unit/data/files.h"

namespace capstan {
namespace {

constexpr uint64_t kRounds = 4000;

std::vector<std::string> Seeds() {
  const std::string csv = "1,2.5,abc\n0,,\"x,\"\"y\"\r\n\n1,-1e3,\n0,7,zz";
  const std::string libsvm = "-1 3:1 11:0.5 # c\n+1 1:1\n\n1 18446744073709551615:2\n";
  const std::string idx("\0\0\x08\x03\0\0\0\x02\0\0\0\x01\0\0\0\x02\1\2\3\4", 20);
  return {csv, libsvm, "1\t2\tx\n0\t\ty\n", idx, Gzip(csv), Zstd(libsvm), Gzip(idx)};
}

// A few bytes changed, taken out, doubled or moved, as `round` draws them.
std::string Mutate(std::string text, uint64_t round) {
  for (uint64_t i = 0; i <= Draw(1, round, 0) % 6 && !text.empty(); ++i) {
    const uint64_t bits = Draw(2, round, i);
    const size_t at = (bits >> 8) % text.size();
    const size_t size = (bits >> 40) % 8;
    if (bits % 4 == 0) text[at] = static_cast<char>(bits >> 56);
    if (bits % 4 == 1) text.erase(at, size);
    if (bits % 4 == 2) text.insert(at, text.substr((bits >> 20) % text.size(), size));
    if (bits % 4 == 3) text[at] = ",\n\"\r\t: #"[size];
  }
  return text;
}

TEST(AnyBytesTest, MutatedFilesAreReadOrRefusedTheSameHoweverTheyAreCut) {
  const std::vector<std::string> seeds = Seeds();
  for (uint64_t round = 0; round < kRounds; ++round) {
    const std::string& seed = seeds[round % seeds.size()];
    ReadAnyBytes(static_cast<uint8_t>(Draw(3, round, 0)), Mutate(seed, round));
  }
}

}  // namespace
}  // namespace capstan
