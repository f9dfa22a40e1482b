// The XML of S3's responses: elements and text, parsed by pugixml.
//
// Attributes and comments are skipped. The five named entities and numeric ones are decoded; any
// other is kept in the text as written. Refused, because S3 never sends it, are document types, and
// with them user-defined entities; deep nesting; and more elements than a page of a listing can
// have.
#ifndef CAPSTAN_OBJECTSTORE_S3_XML_H_
#define CAPSTAN_OBJECTSTORE_S3_XML_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace capstan {

struct XmlElement {
  static constexpr size_t kMostElements = size_t{1} << 16;
  static constexpr int kMostDepth = 16;

  std::string name;
  std::string text;  // The element's own text, without that of its children.
  std::vector<XmlElement> children;

  // Returns the first child of that name, or null.
  const XmlElement* Child(std::string_view child) const;
  // Returns the text of the first child of that name, or "".
  std::string_view ChildText(std::string_view child) const;
};

// DATA_LOSS: it is not such a document.
absl::StatusOr<XmlElement> ParseXml(std::string_view document);

// Returns `text` escaped for use between tags.
std::string XmlEscape(std::string_view text);

}  // namespace capstan

#endif  // CAPSTAN_OBJECTSTORE_S3_XML_H_
