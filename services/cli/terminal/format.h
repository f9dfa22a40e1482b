// Formats numbers and texts for people. Pure functions.
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

// `digits` digits behind the point, or for numbers below a thousandth `digits` significant digits:
// "0.7712", "1.235e-07".
std::string Decimals(double number, int digits);

// "532 B", "1.25 KiB", "64.0 MiB"
std::string Bytes(double bytes);

// "0s", "42s", "1m 07s", "3h 05m", "2d 04h"; negative or infinite: "-".
std::string ShortDuration(absl::Duration duration);
std::string ShortSeconds(double seconds);

// "once", "3 times"
std::string Times(int count);

// The time of a step: "850 us", "12.3 ms", "2.10 s"; not positive: "-".
std::string StepTime(double seconds);

// A bar of `cells` cells. `fraction` is cut to 0..1. With `unicode` it is drawn in eighths of a
// cell, otherwise as "#####.....".
std::string Bar(double fraction, int cells, bool unicode);

// Draws the values as a curve between the smallest and the largest, averaged into `cells` cells if
// there are more values. Values that are not finite are left out.
std::string Sparkline(absl::Span<const double> values, int cells, bool unicode);

// Returns text from outside made safe to write to a terminal: control characters and bytes that are
// not UTF-8 become '?', and a line break becomes a space.
std::string Printable(std::string_view text);

// Returns `text` as one word of a shell's command line, in quotes if need be.
std::string ShellWord(std::string_view text);

// Breaks a text into lines of at most `width` cells. A longer word has a line of its own.
std::vector<std::string> Wrapped(std::string_view text, size_t width);

// Returns the cells that a text takes on a terminal: its code points, without Paint's escape
// sequences.
size_t Cells(std::string_view text);

// Cuts a text to `width` cells, never inside a character or an escape sequence. Colours are reset
// at the cut.
std::string Clip(std::string_view text, size_t width);

}  // namespace capstan::cli

#endif  // CAPSTAN_CLI_TERMINAL_FORMAT_H_
