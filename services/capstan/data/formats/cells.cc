#include "capstan/data/formats/cells.h"

namespace capstan {

bool CellScanner::NextQuoted(std::string_view& cell) {
  unquoted_.clear();
  size_t at = 1;
  while (true) {
    size_t quote = rest_.find('"', at);
    if (quote == std::string_view::npos) break;
    unquoted_.append(rest_.substr(at, quote - at));
    at = quote + 1;
    const bool at_end = at == rest_.size();
    if (at_end || rest_[at] == separator_) {
      cell = unquoted_;
      more_ = !at_end;
      rest_.remove_prefix(at_end ? at : at + 1);
      return true;
    }
    if (rest_[at] != '"') break;
    unquoted_.push_back('"');
    ++at;
  }
  malformed_ = true;
  more_ = false;
  return false;
}

}  // namespace capstan
