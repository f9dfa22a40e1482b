#include "capstan/base/ports_file.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "capstan/base/status.h"

namespace capstan {
namespace {

constexpr int kMaxPort = 65535;

// Reads `"name": 41001`.
absl::StatusOr<std::pair<std::string, int>> ParseEntry(std::string_view entry) {
  const std::pair<std::string, std::string> halves =
      absl::StrSplit(absl::string_view(entry.data(), entry.size()), absl::MaxSplits(':', 1));
  int port = 0;
  if (!absl::SimpleAtoi(halves.second, &port) || port < 0 || port > kMaxPort) {
    return absl::InvalidArgumentError(absl::StrCat("no port: ", halves.second));
  }
  return std::pair(std::string(absl::StripAsciiWhitespace(halves.first)), port);
}

absl::StatusOr<Ports> Parse(absl::string_view text) {
  text = absl::StripAsciiWhitespace(text);
  if (!absl::ConsumePrefix(&text, "{") || !absl::ConsumeSuffix(&text, "}")) {
    return absl::InvalidArgumentError("not one JSON object");
  }
  Ports ports;
  for (const absl::string_view entry : absl::StrSplit(text, ',')) {
    CAPSTAN_ASSIGN_OR_RETURN(const auto named, ParseEntry({entry.data(), entry.size()}));
    const auto& [name, port] = named;
    if (name == "\"data\"") ports.data = port;
    if (name == "\"health\"") ports.health = port;
    if (name == "\"metrics\"") ports.metrics = port;
  }
  return ports;
}

}  // namespace

absl::Status WritePortsFile(const std::string& path, const Ports& ports) {
  const std::string unfinished = absl::StrCat(path, ".", getpid(), ".tmp");
  std::ofstream file(unfinished);
  file << absl::StrCat("{\"data\": ", ports.data, ", \"health\": ", ports.health,
                       ", \"metrics\": ", ports.metrics, "}\n");
  file.close();
  if (file.fail() || std::rename(unfinished.c_str(), path.c_str()) != 0) {
    const int error = errno;
    std::remove(unfinished.c_str());
    return absl::ErrnoToStatus(error, absl::StrCat("cannot write the ports file ", path));
  }
  return absl::OkStatus();
}

absl::StatusOr<Ports> ReadPortsFile(const std::string& path) {
  std::ifstream file(path);
  if (!file) return absl::NotFoundError(absl::StrCat("no ports file ", path));
  const std::string text(std::istreambuf_iterator<char>(file), {});
  absl::StatusOr<Ports> ports = Parse(text);
  if (ports.ok()) return ports;
  return absl::InvalidArgumentError(
      absl::StrCat("ports file ", path, ": ", ports.status().message()));
}

}  // namespace capstan
