// The cells of a line of CSV or TSV.
#ifndef CAPSTAN_DATA_FORMATS_CELLS_H_
#define CAPSTAN_DATA_FORMATS_CELLS_H_

#include <string>
#include <string_view>

#include "capstan/v1/job.pb.h"

namespace capstan {

// Thread-compatible.
class CellScanner {
 public:
  // CSV: commas and quotes. TSV: tabs, no quotes.
  explicit CellScanner(v1::DataFormat format)
      : separator_(format == v1::DATA_FORMAT_TSV ? '\t' : ','),
        quotes_(format == v1::DATA_FORMAT_CSV) {}

  // Begins to scan `line`. Every line has at least one cell, even an empty line.
  void Begin(std::string_view line) {
    rest_ = line;
    more_ = true;
    malformed_ = false;
  }

  // Sets `cell` to the next cell. A quoted cell is valid until the next call, any other as long as
  // the line. Returns false if no cell remains or the line is malformed.
  bool Next(std::string_view& cell) {
    if (!more_) return false;
    if (quotes_ && rest_.starts_with('"')) return NextQuoted(cell);
    const char* const begin = rest_.data();
    const char* const end = begin + rest_.size();
    const char* at = begin;
    while (at != end && *at != separator_) ++at;
    cell = std::string_view(begin, static_cast<size_t>(at - begin));
    more_ = at != end;
    rest_ =
        more_ ? std::string_view(at + 1, static_cast<size_t>(end - at - 1)) : std::string_view();
    return true;
  }

  // Returns true if the line was malformed: a quote that is not closed, or text after a closing
  // quote.
  bool malformed() const { return malformed_; }

 private:
  bool NextQuoted(std::string_view& cell);

  const char separator_;
  const bool quotes_;
  std::string_view rest_;
  std::string unquoted_;
  bool more_ = false;
  bool malformed_ = false;
};

}  // namespace capstan

#endif  // CAPSTAN_DATA_FORMATS_CELLS_H_
