// Aligns the columns of a table of a few dozen lines. Thread-compatible.
#ifndef CAPSTAN_CLI_TERMINAL_TEXT_TABLE_H_
#define CAPSTAN_CLI_TERMINAL_TEXT_TABLE_H_

#include <string>
#include <vector>

namespace capstan::cli {

class TextTable {
 public:
  // A column whose title begins with '>' is flush right.
  explicit TextTable(std::vector<std::string> titles);

  // Cells may hold escape sequences and UTF-8. REQUIRES: there are as many cells as titles.
  void AddRow(std::vector<std::string> cells);

  // Returns the titles, then the rows, with two blanks between columns and none at the end.
  std::vector<std::string> Lines() const;

 private:
  std::vector<bool> right_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace capstan::cli

#endif  // CAPSTAN_CLI_TERMINAL_TEXT_TABLE_H_
