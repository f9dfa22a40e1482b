#include "capstan/objectstore/s3/xml.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "capstan/base/absl_view.h"
#include "capstan/base/status.h"

namespace capstan {
namespace {

void AppendUtf8(uint32_t code, std::string& text) {
  if (code < 0x80) {
    text.push_back(static_cast<char>(code));
    return;
  }
  const int more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
  constexpr uint32_t kLead[] = {0, 0xC0, 0xE0, 0xF0};
  text.push_back(static_cast<char>(kLead[more] | (code >> (6 * more))));
  for (int i = more - 1; i >= 0; --i) {
    text.push_back(static_cast<char>(0x80 | ((code >> (6 * i)) & 0x3F)));
  }
}

class XmlParser {
 public:
  explicit XmlParser(std::string_view document) : document_(document) {}

  absl::StatusOr<XmlElement> Parse() {
    Take("\xEF\xBB\xBF");
    SkipSpace();
    if (Take("<?xml")) CAPSTAN_RETURN_IF_ERROR(SkipBehind("?>"));
    SkipSpace();
    XmlElement root;
    CAPSTAN_RETURN_IF_ERROR(ParseElement(root, 1));
    SkipSpace();
    if (at_ != document_.size()) return Bad("more than one element");
    return root;
  }

 private:
  absl::Status Bad(absl::string_view what) const {
    return absl::DataLossError(absl::StrCat("XML: byte ", at_, ": ", what));
  }

  bool Take(std::string_view token) {
    if (!document_.substr(at_).starts_with(token)) return false;
    at_ += token.size();
    return true;
  }

  void SkipSpace() {
    while (at_ < document_.size() && absl::ascii_isspace(document_[at_])) ++at_;
  }

  absl::Status SkipBehind(std::string_view token) {
    const size_t found = document_.find(token, at_);
    if (found == std::string_view::npos) return Bad("ends early");
    at_ = found + token.size();
    return absl::OkStatus();
  }

  absl::StatusOr<std::string> ParseName() {
    const size_t begin = at_;
    while (at_ < document_.size() &&
           (absl::ascii_isalnum(document_[at_]) || document_[at_] == '_' || document_[at_] == ':' ||
            document_[at_] == '-' || document_[at_] == '.')) {
      ++at_;
    }
    if (at_ == begin || absl::ascii_isdigit(document_[begin])) return Bad("a name is expected");
    return std::string(document_.substr(begin, at_ - begin));
  }

  // Behind the name. A ">" may stand within quotes.
  absl::StatusOr<bool> SkipAttributesIsEmpty() {
    while (at_ < document_.size()) {
      const char c = document_[at_++];
      if (c == '>') return false;
      if (c == '/' && Take(">")) return true;
      if (c == '<') return Bad("a tag within a tag");
      if (c == '"' || c == '\'') CAPSTAN_RETURN_IF_ERROR(SkipBehind(std::string_view(&c, 1)));
    }
    return Bad("ends within a tag");
  }

  absl::Status ParseEntity(std::string& text) {
    const size_t end = document_.substr(0, at_ + 12).find(';', at_);
    if (end == std::string_view::npos) return Bad("an entity without an end");
    const std::string_view name = document_.substr(at_, end - at_);
    constexpr std::pair<std::string_view, char> kNamed[] = {
        {"lt", '<'}, {"gt", '>'}, {"amp", '&'}, {"quot", '"'}, {"apos", '\''}};
    for (const auto& [known, c] : kNamed) {
      if (name != known) continue;
      text.push_back(c);
      at_ = end + 1;
      return absl::OkStatus();
    }
    uint32_t code = 0;
    const bool good =
        name.starts_with("#x")
            ? absl::SimpleHexAtoi(AbslView(name.substr(2)), &code)
            : name.starts_with("#") && absl::SimpleAtoi(AbslView(name.substr(1)), &code);
    if (!good || code == 0 || code > 0x10FFFF) return Bad("an unknown entity");
    AppendUtf8(code, text);
    at_ = end + 1;
    return absl::OkStatus();
  }

  absl::Status ParseElement(XmlElement& element, int depth) {
    if (depth > XmlElement::kMostDepth) return Bad("nested too deep");
    if (++elements_ > XmlElement::kMostElements) return Bad("too many elements");
    if (!Take("<")) return Bad("an element is expected");
    CAPSTAN_ASSIGN_OR_RETURN(element.name, ParseName());
    CAPSTAN_ASSIGN_OR_RETURN(const bool empty, SkipAttributesIsEmpty());
    return empty ? absl::OkStatus() : ParseContent(element, depth);
  }

  absl::Status ParseContent(XmlElement& element, int depth) {
    while (at_ < document_.size()) {
      if (Take("<!--")) {
        CAPSTAN_RETURN_IF_ERROR(SkipBehind("-->"));
      } else if (Take("</")) {
        if (!Take(element.name)) return Bad("another element ends");
        SkipSpace();
        return Take(">") ? absl::OkStatus() : Bad("'>' is expected");
      } else if (document_[at_] == '<') {
        CAPSTAN_RETURN_IF_ERROR(ParseElement(element.children.emplace_back(), depth + 1));
      } else if (Take("&")) {
        CAPSTAN_RETURN_IF_ERROR(ParseEntity(element.text));
      } else {
        const size_t end = std::min(document_.find_first_of("<&", at_), document_.size());
        element.text.append(document_.substr(at_, end - at_));
        at_ = end;
      }
    }
    return Bad("ends within an element");
  }

  const std::string_view document_;
  size_t at_ = 0;
  size_t elements_ = 0;
};

}  // namespace

const XmlElement* XmlElement::Child(std::string_view child) const {
  for (const XmlElement& present : children) {
    if (present.name == child) return &present;
  }
  return nullptr;
}

std::string_view XmlElement::ChildText(std::string_view child) const {
  const XmlElement* present = Child(child);
  return present == nullptr ? std::string_view() : std::string_view(present->text);
}

absl::StatusOr<XmlElement> ParseXml(std::string_view document) {
  return XmlParser(document).Parse();
}

std::string XmlEscape(std::string_view text) {
  return absl::StrReplaceAll(AbslView(text), {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}});
}

}  // namespace capstan
