#include "cli/terminal/format.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "capstan/base/utf8.h"

namespace capstan::cli {
namespace {

constexpr char kEscape = '\x1b';
constexpr int kEighths = 8;
constexpr const char* kLeftBlocks[kEighths] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
constexpr const char* kLowerBlocks[kEighths] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
constexpr char kAsciiLevels[] = "_.-=+*#@";

std::string ThreeDigits(double value) {
  if (value >= 99.95) return absl::StrFormat("%.0f", value);
  if (value >= 9.995) return absl::StrFormat("%.1f", value);
  return absl::StrFormat("%.2f", value);
}

// Returns the bytes of the escape sequence at the front of `text`; 0: there is none.
size_t EscapeLength(std::string_view text) {
  if (text.size() < 2 || text[0] != kEscape || text[1] != '[') return 0;
  const size_t end = text.find('m');
  return end == std::string_view::npos ? text.size() : end + 1;
}

// Returns at most `count` values: if there are more, the means of `count` pieces of about the same
// length.
std::vector<double> Resampled(const std::vector<double>& values, size_t count) {
  if (values.size() <= count) return values;
  std::vector<double> means;
  for (size_t i = 0; i < count; ++i) {
    const auto begin = values.begin() + i * values.size() / count;
    const auto end = values.begin() + (i + 1) * values.size() / count;
    means.push_back(std::accumulate(begin, end, 0.0) / (end - begin));
  }
  return means;
}

// Returns whether a character is a control character, C0, DEL or C1 (U+0080 to U+009F), which a
// terminal may obey.
bool IsControl(std::string_view character) {
  const auto first = static_cast<unsigned char>(character[0]);
  if (character.size() == 1) return first < 0x20 || first == 0x7F;
  return first == 0xC2 && static_cast<unsigned char>(character[1]) < 0xA0;
}

}  // namespace

std::string Grouped(uint64_t number) {
  std::string digits = absl::StrCat(number);
  for (int at = static_cast<int>(digits.size()) - 3; at > 0; at -= 3) digits.insert(at, 1, ',');
  return digits;
}

std::string Short(double number) {
  if (!std::isfinite(number)) return "-";
  if (number < 0) return absl::StrCat("-", Short(-number));
  if (number == std::floor(number) && number < 1000) return absl::StrFormat("%.0f", number);
  const char* unit = "";
  for (const char* larger : {" k", " M", " G", " T"}) {
    if (number < 999.5) break;
    number /= 1000;
    unit = larger;
  }
  return absl::StrCat(ThreeDigits(number), unit);
}

std::string Decimals(double number, int digits) {
  const bool small = number != 0 && std::abs(number) < 1e-3;
  return small ? absl::StrFormat("%.*g", digits, number) : absl::StrFormat("%.*f", digits, number);
}

std::string Bytes(double bytes) {
  if (bytes < 1024) return absl::StrFormat("%.0f B", bytes);
  const char* unit = " B";
  for (const char* larger : {" KiB", " MiB", " GiB", " TiB"}) {
    if (bytes < 1024) break;
    bytes /= 1024;
    unit = larger;
  }
  return absl::StrCat(ThreeDigits(bytes), unit);
}

std::string ShortDuration(absl::Duration duration) {
  if (duration < absl::ZeroDuration() || duration == absl::InfiniteDuration()) return "-";
  const int64_t seconds = absl::ToInt64Seconds(duration);
  if (seconds < 60) return absl::StrFormat("%ds", seconds);
  if (seconds < 3600) return absl::StrFormat("%dm %02ds", seconds / 60, seconds % 60);
  if (seconds < 86400) return absl::StrFormat("%dh %02dm", seconds / 3600, seconds / 60 % 60);
  return absl::StrFormat("%dd %02dh", seconds / 86400, seconds / 3600 % 24);
}

std::string ShortSeconds(double seconds) { return ShortDuration(absl::Seconds(seconds)); }

std::string Times(int count) { return count == 1 ? "once" : absl::StrCat(count, " times"); }

std::string StepTime(double seconds) {
  if (!(seconds > 0) || !std::isfinite(seconds)) return "-";
  if (seconds < 0.9995e-3) return absl::StrFormat("%.0f us", seconds * 1e6);
  if (seconds < 0.9995) return absl::StrCat(ThreeDigits(seconds * 1e3), " ms");
  return absl::StrCat(ThreeDigits(seconds), " s");
}

std::string Bar(double fraction, int cells, bool unicode) {
  fraction = std::isfinite(fraction) ? std::clamp(fraction, 0.0, 1.0) : 0;
  std::string bar;
  if (!unicode) {
    const int full = static_cast<int>(fraction * cells);
    return bar.append(full, '#').append(cells - full, '.');
  }
  const int eighths = static_cast<int>(fraction * cells * kEighths);
  for (int i = 0; i < eighths / kEighths; ++i) bar += "█";
  if (eighths / kEighths < cells) bar += kLeftBlocks[eighths % kEighths];
  for (int i = (eighths + kEighths - 1) / kEighths; i < cells; ++i) bar += "░";
  return bar;
}

std::string Sparkline(absl::Span<const double> values, int cells, bool unicode) {
  std::vector<double> finite;
  for (double value : values) {
    if (std::isfinite(value)) finite.push_back(value);
  }
  if (finite.empty() || cells <= 0) return "";
  finite = Resampled(finite, cells);
  const auto [low, high] = std::minmax_element(finite.begin(), finite.end());
  const double range = *high - *low;
  std::string line;
  for (double value : finite) {
    const double height = range > 0 ? (value - *low) / range : 0;
    const int level = std::min(kEighths - 1, static_cast<int>(height * kEighths));
    unicode ? line += kLowerBlocks[level] : line += kAsciiLevels[level];
  }
  return line;
}

std::string Printable(std::string_view text) {
  std::string printable;
  while (!text.empty()) {
    const size_t length = CharacterLength(text);
    const std::string_view character = text.substr(0, std::max<size_t>(length, 1));
    if (character == "\n") {
      printable += ' ';
    } else if (length == 0 || IsControl(character)) {
      printable += '?';
    } else {
      printable += character;
    }
    text.remove_prefix(character.size());
  }
  return printable;
}

std::string ShellWord(std::string_view text) {
  constexpr std::string_view kHarmless =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./=:,+-@%";
  if (!text.empty() && text.find_first_not_of(kHarmless) == text.npos) return std::string(text);
  std::string word = "'";
  for (const char c : text) c == '\'' ? word += "'\\''" : word += c;
  return word + "'";
}

std::vector<std::string> Wrapped(std::string_view text, size_t width) {
  std::vector<std::string> lines;
  const absl::string_view words(text.data(), text.size());
  for (const absl::string_view word : absl::StrSplit(words, ' ', absl::SkipEmpty())) {
    const size_t cells = Cells({word.data(), word.size()});
    if (!lines.empty() && Cells(lines.back()) + 1 + cells <= width) {
      absl::StrAppend(&lines.back(), " ", word);
    } else {
      lines.emplace_back(word);
    }
  }
  return lines;
}

size_t Cells(std::string_view text) {
  size_t cells = 0;
  while (!text.empty()) {
    if (const size_t escape = EscapeLength(text); escape > 0) {
      text.remove_prefix(escape);
      continue;
    }
    cells += !IsContinuation(text[0]);
    text.remove_prefix(1);
  }
  return cells;
}

std::string Clip(std::string_view text, size_t width) {
  if (Cells(text) <= width) return std::string(text);
  std::string clipped;
  bool coloured = false;
  for (size_t cells = 0; !text.empty();) {
    const size_t escape = EscapeLength(text);
    if (escape == 0 && !IsContinuation(text[0]) && cells++ == width) break;
    coloured |= escape > 0;
    const size_t length = std::max<size_t>(escape, 1);
    clipped += text.substr(0, length);
    text.remove_prefix(length);
  }
  return coloured ? clipped + "\x1b[0m" : clipped;
}

}  // namespace capstan::cli
