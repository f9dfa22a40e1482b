#include "capstan/base/host_port.h"

#include <algorithm>
#include <charconv>

#include "absl/strings/ascii.h"

namespace capstan {
namespace {

constexpr size_t kMostHostBytes = 253;  // The most bytes of a DNS name.

bool MayStandInHost(char c) {
  return absl::ascii_isalnum(c) || c == '-' || c == '.' || c == '_' || c == ':' || c == '%';
}

}  // namespace

std::optional<HostPort> SplitHostPort(std::string_view address) {
  const size_t colon = address.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const std::string_view digits = address.substr(colon + 1);
  HostPort split;
  const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), split.port);
  if (read.ec != std::errc() || read.ptr != digits.data() + digits.size()) return std::nullopt;
  std::string_view host = address.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  if (host.empty() || host.size() > kMostHostBytes) return std::nullopt;
  if (!std::all_of(host.begin(), host.end(), MayStandInHost)) return std::nullopt;
  split.host = host;
  return split;
}

std::string JoinHostPort(const std::string& host, int port) {
  const bool brackets = host.find(':') != std::string::npos;
  return (brackets ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

}  // namespace capstan
