#include "capstan/objectstore/s3/flat_json.h"

#include <cstdint>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "capstan/base/status.h"

namespace capstan {
namespace {

class FlatJsonParser {
 public:
  explicit FlatJsonParser(std::string_view document) : document_(document) {}

  absl::StatusOr<std::map<std::string, std::string>> Parse() {
    std::map<std::string, std::string> members;
    if (!Take('{')) return Bad();
    if (Take('}')) return members;
    do {
      CAPSTAN_ASSIGN_OR_RETURN(const std::string name, ParseText());
      if (!Take(':')) return Bad();
      if (!Peek('"')) {
        CAPSTAN_RETURN_IF_ERROR(SkipScalar());
        continue;
      }
      CAPSTAN_ASSIGN_OR_RETURN(members[name], ParseText());
    } while (Take(','));
    if (!Take('}')) return Bad();
    SkipSpace();
    if (at_ != document_.size()) return Bad();
    return members;
  }

 private:
  absl::Status Bad() const {
    return absl::DataLossError(absl::StrCat("JSON: byte ", at_, " is not expected"));
  }

  void SkipSpace() {
    while (at_ < document_.size() && absl::ascii_isspace(document_[at_])) ++at_;
  }
  bool Peek(char c) {
    SkipSpace();
    return at_ < document_.size() && document_[at_] == c;
  }
  bool Take(char c) {
    const bool there = Peek(c);
    at_ += there;
    return there;
  }

  absl::Status SkipScalar() {
    const size_t begin = at_;
    while (at_ < document_.size() &&
           (absl::ascii_isalnum(document_[at_]) || document_[at_] == '-' || document_[at_] == '+' ||
            document_[at_] == '.')) {
      ++at_;
    }
    return at_ > begin ? absl::OkStatus() : Bad();
  }

  absl::StatusOr<std::string> ParseText() {
    if (!Take('"')) return Bad();
    std::string text;
    while (at_ < document_.size()) {
      const char c = document_[at_++];
      if (c == '"') return text;
      if (static_cast<unsigned char>(c) < 0x20) return Bad();
      if (c != '\\') {
        text.push_back(c);
        continue;
      }
      CAPSTAN_ASSIGN_OR_RETURN(const char escaped, ParseEscape());
      text.push_back(escaped);
    }
    return Bad();
  }

  // Behind the backslash. Credentials and times are ASCII.
  absl::StatusOr<char> ParseEscape() {
    constexpr std::string_view kFrom = "\"\\/bfnrt";
    constexpr std::string_view kTo = "\"\\/\b\f\n\r\t";
    if (at_ >= document_.size()) return Bad();
    const size_t kind = kFrom.find(document_[at_]);
    if (kind != std::string_view::npos) {
      ++at_;
      return kTo[kind];
    }
    uint32_t code = 0;
    const std::string digits(document_.substr(at_).substr(0, 5));
    if (digits.size() != 5 || digits[0] != 'u' || !absl::SimpleHexAtoi(digits.substr(1), &code) ||
        code >= 0x80) {
      return Bad();
    }
    at_ += digits.size();
    return static_cast<char>(code);
  }

  const std::string_view document_;
  size_t at_ = 0;
};

}  // namespace

absl::StatusOr<std::map<std::string, std::string>> ParseFlatJson(std::string_view document) {
  return FlatJsonParser(document).Parse();
}

}  // namespace capstan
