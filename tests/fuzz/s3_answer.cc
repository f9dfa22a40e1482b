// What an S3 server, or whoever stands in its place, answers: XML, and the JSON of credential
// servers. What is accepted is within the limits that xml.h states.
#include "capstan/base/check.h"
#include "capstan/objectstore/s3/flat_json.h"
#include "capstan/objectstore/s3/xml.h"
#include "tests/fuzz/fuzz.h"

namespace capstan {
namespace {

size_t CheckTree(const XmlElement& element, int depth) {
  CAPSTAN_CHECK(!element.name.empty());
  CAPSTAN_CHECK(depth <= XmlElement::kMostDepth);
  size_t elements = 1;
  for (const XmlElement& child : element.children) elements += CheckTree(child, depth + 1);
  return elements;
}

}  // namespace
}  // namespace capstan

void Fuzz(std::string_view input) {
  using namespace capstan;
  const auto xml = ParseXml(input);
  if (xml.ok()) CAPSTAN_CHECK(CheckTree(*xml, 1) <= XmlElement::kMostElements);
  (void)ParseFlatJson(input);
}
