#include "capstan/objectstore/s3/xml.h"

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace capstan {
namespace {

TEST(ParseXmlTest, ReadsElementsTextAndEntities) {
  const absl::StatusOr<XmlElement> root = ParseXml(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      "<Error xmlns='a>b'><Code>Slow&amp;Down</Code><!-- x --><Empty/><N>&#65;&#xFC;&#x1F600;</N>"
      "</Error>\n");
  ASSERT_TRUE(root.ok()) << root.status();
  EXPECT_EQ(root->name, "Error");
  EXPECT_EQ(root->ChildText("Code"), "Slow&Down");
  EXPECT_EQ(root->ChildText("N"), "A\xC3\xBC\xF0\x9F\x98\x80");
  EXPECT_NE(root->Child("Empty"), nullptr);
  EXPECT_EQ(root->Child("None"), nullptr);
  EXPECT_EQ(root->ChildText("None"), "");
}

TEST(ParseXmlTest, RefusesWhatIsNoDocument) {
  for (const char* bad :
       {"", "text", "<", "<a", "<a>", "<a></b>", "<a></a", "<a></a><b/>", "<a><b></a></b>",
        "<a b='></a>", "<?xml", "<a><![CDATA[x</a>", "<1a/>", "<a <b/>></a>", "{\"json\": 1}"}) {
    EXPECT_EQ(ParseXml(bad).status().code(), absl::StatusCode::kDataLoss) << bad;
  }
}

TEST(ParseXmlTest, LeavesInTheTextWhatIsNoEntity) {
  EXPECT_EQ(ParseXml("<a>x&y &unknown; &amp</a>")->text, "x&y &unknown; &amp");
}

TEST(ParseXmlTest, RefusesEntitiesOfOnesOwn) {
  const absl::Status status =
      ParseXml(
          "<?xml version=\"1.0\"?><!DOCTYPE lolz [<!ENTITY lol \"lol\"><!ENTITY lol2 "
          "\"&lol;&lol;&lol;&lol;\">]><lolz>&lol2;</lolz>")
          .status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << status;
}

TEST(ParseXmlTest, BoundsDepthAndNumberOfElements) {
  std::string deep;
  for (int i = 0; i < 60000; ++i) deep += "<a>";
  for (int i = 0; i < 60000; ++i) deep += "</a>";
  EXPECT_THAT(std::string(ParseXml(deep).status().message()), testing::HasSubstr("too deep"));
  std::string wide = "<a>";
  for (size_t i = 0; i < XmlElement::kMostElements; ++i) wide += "<b/>";
  EXPECT_THAT(std::string(ParseXml(wide + "</a>").status().message()),
              testing::HasSubstr("too many"));
  EXPECT_THAT(std::string(ParseXml(deep + deep).status().message()),
              testing::HasSubstr("too many"));
}

TEST(XmlEscapeTest, GivesBackTheTextThroughTheParser) {
  const std::string text = "a<b>&amp;'\"";
  EXPECT_EQ(ParseXml(absl::StrCat("<k>", XmlEscape(text), "</k>"))->text, text);
}

}  // namespace
}  // namespace capstan
