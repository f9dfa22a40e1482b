// MANIFEST.json: parsed or refused; what is parsed can be written, and that is parsed to the same.
//
// First byte '0': the rest is the file. Otherwise it is the file's body, which gets its checksum
// here.
#include "capstan/checkpoint/manifest.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "capstan/base/check.h"
#include "capstan/base/crc32c.h"
#include "tests/fuzz/fuzz.h"

void Fuzz(std::string_view input) {
  if (input.empty()) return;
  std::string text(input.substr(1));
  if (input[0] != '0') {
    text = absl::StrFormat("%s,\n \"crc32c\": \"%08x\"\n}\n", text, capstan::Crc32c(text));
  }
  const auto manifest = capstan::ParseManifest(text);
  if (!manifest.ok()) return;
  const auto written = capstan::ManifestText(*manifest);
  CAPSTAN_CHECK(written.ok());
  const auto again = capstan::ParseManifest(*written);
  CAPSTAN_CHECK(again.ok());
  CAPSTAN_CHECK(*capstan::ManifestText(*again) == *written);
}
