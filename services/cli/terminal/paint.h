// Colours of a terminal, or none. Immutable.
#ifndef CAPSTAN_CLI_TERMINAL_PAINT_H_
#define CAPSTAN_CLI_TERMINAL_PAINT_H_

#include <string>

namespace capstan::cli {

class Paint {
 public:
  explicit Paint(bool color) : color_(color) {}
  std::string Bold(const std::string& text) const { return In("1", text); }
  std::string Dim(const std::string& text) const { return In("2", text); }
  std::string Good(const std::string& text) const { return In("32", text); }
  std::string Bad(const std::string& text) const { return In("31", text); }
  std::string Warn(const std::string& text) const { return In("33", text); }

 private:
  std::string In(const char* code, const std::string& text) const {
    return color_ ? std::string("\x1b[") + code + "m" + text + "\x1b[0m" : text;
  }

  const bool color_;
};

}  // namespace capstan::cli

#endif  // CAPSTAN_CLI_TERMINAL_PAINT_H_
