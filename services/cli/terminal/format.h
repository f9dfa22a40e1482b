// Numbers and texts as people read them. Pure functions.
#ifndef CAPSTAN_CLI_TERMINAL_FORMAT_H_
#define CAPSTAN_CLI_TERMINAL_FORMAT_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/time/time.h"
#include "absl/types/span.h"

namespace capstan::cli {

// "1,234,567"
std::string Grouped(uint64_t number);

// Three significant digits: "0", "12.3", "4.56 k", "789 k", "1.23 M", "4.5 G". Not a number: "-".
std::string Short(double number);

// So many digits behind the point; of what is smaller than a thousandth, so many significant ones:
// "0.7712", "1.235e-07".
std::string Decimals(double number, int digits);

// "532 B", "1.25 KiB", "64.0 MiB"
std::string Bytes(double bytes);

// "0s", "42s", "1m 07s", "3h 05m", "2d 04h"; negative or infinite: "-".
std::string ShortDuration(absl::Duration duration);
std::string ShortSeconds(double seconds);

// "once", "3 times"
std::string Times(int count);

// A step's time: "850 us", "12.3 ms", "2.10 s"; not positive: "-".
std::string StepTime(double seconds);

// `fraction` is cut to 0..1. With `unicode` in eighths of a cell, otherwise "#####.....".
std::string Bar(double fraction, int cells, bool unicode);

// The values as a curve between their smallest and their largest, squeezed into `cells` if there
// are more; values that are not finite are left out.
std::string Sparkline(absl::Span<const double> values, int cells, bool unicode);

// Text of others, safe to write to a terminal: control characters and bytes that are not UTF-8
// become '?', and a line break becomes a space.
std::string Printable(std::string_view text);

// `text` as one word of a shell's command line: as it is, or in quotes.
std::string ShellWord(std::string_view text);

// The words of a text in lines of at most `width` cells; a longer word has a line of its own.
std::vector<std::string> Wrapped(std::string_view text, size_t width);

// Cells that a text takes on a terminal: its code points, without our own escape sequences.
size_t Cells(std::string_view text);

// Cut to `width` cells (never inside a character or an escape sequence); colours end with it.
std::string Clip(std::string_view text, size_t width);

}  // namespace capstan::cli

#endif  // CAPSTAN_CLI_TERMINAL_FORMAT_H_
