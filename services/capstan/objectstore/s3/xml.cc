#include "capstan/objectstore/s3/xml.h"

#include <algorithm>
#include <pugixml.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "capstan/base/absl_view.h"
#include "capstan/base/status.h"

namespace capstan {
namespace {

absl::Status Bad(absl::string_view what) {
  return absl::DataLossError(absl::StrCat("XML: ", what));
}

// Converts the library's tree to ours, within the limits of the header.
class TreeReader {
 public:
  absl::Status Read(const pugi::xml_node& from, int depth, XmlElement& to) {
    if (depth > XmlElement::kMostDepth) return Bad("nested too deep");
    if (++elements_ > XmlElement::kMostElements) return Bad("too many elements");
    to.name = from.name();
    for (const pugi::xml_node& child : from.children()) {
      if (child.type() == pugi::node_element) {
        CAPSTAN_RETURN_IF_ERROR(Read(child, depth + 1, to.children.emplace_back()));
      } else {
        to.text += child.value();
      }
    }
    return absl::OkStatus();
  }

 private:
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
  // An element has at most two tags, so the library builds no tree that is larger than ours may be.
  const auto tags = std::count(document.begin(), document.end(), '<');
  if (static_cast<size_t>(tags) > 2 * XmlElement::kMostElements) return Bad("too many elements");
  pugi::xml_document tree;
  const pugi::xml_parse_result parsed =
      tree.load_buffer(document.data(), document.size(),
                       pugi::parse_default | pugi::parse_ws_pcdata | pugi::parse_doctype);
  if (!parsed) return Bad(absl::StrCat("byte ", parsed.offset, ": ", parsed.description()));
  if (tree.first_child() != tree.last_child() || tree.first_child().type() != pugi::node_element) {
    return Bad("one element is expected, without a document type");
  }
  XmlElement root;
  CAPSTAN_RETURN_IF_ERROR(TreeReader().Read(tree.first_child(), 1, root));
  return root;
}

std::string XmlEscape(std::string_view text) {
  return absl::StrReplaceAll(AbslView(text), {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}});
}

}  // namespace capstan
