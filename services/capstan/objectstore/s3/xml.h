// The XML of S3's answers: elements and text, as pugixml reads them.
//
// Attributes and comments are skipped. The five named entities and numeric ones are understood; any
// other stays in the text as it was written. What S3 never sends is refused: document types, and
// with them entities of one's own; deep nesting; more elements than a page of a listing can have.
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

// Returns `text` as it is written between tags.
std::string XmlEscape(std::string_view text);

}  // namespace capstan

#endif  // CAPSTAN_OBJECTSTORE_S3_XML_H_
