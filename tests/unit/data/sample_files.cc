#include "tests/unit/data/sample_files.h"

#include <bit>
#include <cstring>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "capstan/base/check.h"
#include "capstan/base/crc32c.h"
#include "tests/unit/data/files.h"

namespace capstan {
namespace {

constexpr size_t kBlock = 512;

std::string Padded(std::string_view content) {
  std::string padded(content);
  padded.resize((content.size() + kBlock - 1) / kBlock * kBlock);
  return padded;
}

void Put(std::string& block, size_t place, std::string_view text) {
  block.replace(place, text.size(), text);
}

std::string Header(const std::string& name, const std::string& prefix, uint64_t size, char kind) {
  std::string block(kBlock, '\0');
  Put(block, 0, std::string_view(name).substr(0, 100));
  Put(block, 100, "0000644");
  if (size < uint64_t{1} << 33) {
    Put(block, 124, absl::StrFormat("%011o", size));
  } else {
    block[124] = '\x80';
    for (int i = 0; i < 8; ++i) block[135 - i] = static_cast<char>(size >> (8 * i));
  }
  block[156] = kind;
  Put(block, 257, std::string_view("ustar\00000", 8));
  Put(block, 345, prefix);
  Put(block, 148, "        ");
  uint32_t sum = 0;
  for (const char c : block) sum += static_cast<uint8_t>(c);
  Put(block, 148, absl::StrFormat("%06o", sum) + std::string("\0 ", 2));
  return block;
}

std::string Number(uint64_t number, size_t bytes) {
  return std::string(reinterpret_cast<const char*>(&number), bytes);
}

std::string Varint(uint64_t number) {
  std::string bytes;
  for (; number >= 0x80; number >>= 7) bytes += static_cast<char>(number | 0x80);
  return bytes + static_cast<char>(number);
}

std::string Field(uint64_t number, std::string_view content) {
  return Varint(number << 3 | 2) + Varint(content.size()) + std::string(content);
}

uint32_t Masked(uint32_t sum) { return std::rotr(sum, 15) + 0xA282EAD8u; }

std::string Feature(const std::string& name, const std::string& feature) {
  return Field(1, Field(1, name) + Field(2, feature));
}

}  // namespace

std::string TarBlock(const std::string& name, uint64_t size, char kind) {
  return Header(name, "", size, kind);
}

std::string TarMember(const std::string& name, std::string_view content, TarName style) {
  std::string before;
  std::string shown = name;
  std::string prefix;
  if (style == TarName::kGnu) {
    before = Header("././@LongLink", "", name.size() + 1, 'L') + Padded(name + '\0');
  } else if (style == TarName::kPax) {
    const std::string record = absl::StrCat(" path=", name, "\n");
    size_t size = record.size() + 2;
    if (absl::StrCat(size).size() == 3) ++size;
    const std::string pax = absl::StrCat(size, record);
    before = Header("PaxHeaders/x", "", pax.size(), 'x') + Padded(pax);
    shown = "truncated";
  } else if (style == TarName::kPrefix) {
    const size_t slash = name.rfind('/');
    prefix = name.substr(0, slash);
    shown = name.substr(slash + 1);
  }
  return before + Header(shown, prefix, content.size(), '0') + Padded(content);
}

std::string TarSample(const std::string& name, std::string_view image, std::string_view label) {
  return TarMember(name + ".png", image) + TarMember(name + ".cls", label);
}

std::string TfRecord(std::string_view data) {
  const std::string length = Number(data.size(), 8);
  return length + Number(Masked(Crc32c(length)), 4) + std::string(data) +
         Number(Masked(Crc32c(data)), 4);
}

std::string TfExample(std::string_view image, uint64_t label) {
  return Field(1, Feature("image/format", Field(1, Field(1, "png"))) +
                      Feature("image/encoded", Field(1, Field(1, image))) +
                      Feature("image/class/label", Field(3, Field(1, Varint(label)))));
}

std::vector<std::string> SamplesOf(v1::DataFormat format, const std::string& file,
                                   SampleRange range, const v1::ImageSpec& image) {
  v1::DataSpec data;
  data.set_format(format);
  *data.mutable_image() = image;
  const size_t from = std::min<uint64_t>(range.first_byte, file.size());
  const auto samples =
      NewSampleStream(data, NewTextStream(file.substr(from), /*piece=*/1000), range);
  std::vector<std::string> texts;
  Sample sample;
  while (true) {
    const absl::StatusOr<bool> more = samples->Next(sample);
    CAPSTAN_CHECK(more.ok());
    if (!*more) return texts;
    texts.push_back(sample.error.empty()
                        ? absl::StrCat(sample.image, ":", sample.has_label ? sample.label : "none")
                        : absl::StrCat(sample.place, ": ", sample.error));
  }
}

std::vector<std::string> SamplesOfParts(v1::DataFormat format, const std::string& file,
                                        const std::vector<uint64_t>& ends) {
  std::vector<std::string> all;
  uint64_t begin = 0;
  for (const uint64_t end : ends) {
    for (std::string& text : SamplesOf(format, file, {begin == 0 ? 0 : begin - 1, begin, end})) {
      all.push_back(std::move(text));
    }
    begin = end;
  }
  return all;
}

int BeginsThatGiveTheRest(v1::DataFormat format, const std::string& file) {
  std::vector<std::string> rest = SamplesOf(format, file);
  v1::DataSpec data;
  data.set_format(format);
  const auto samples = NewSampleStream(data, NewTextStream(file, /*piece=*/1000), {});
  Sample sample;
  int begins = 0;
  while (*samples->Next(sample)) {
    rest.erase(rest.begin());
    const std::optional<uint64_t> begin = samples->next_begin();
    if (!begin) continue;
    const SampleRange range{*begin, *begin, Source::kToTheEnd, /*at_sample=*/true};
    if (SamplesOf(format, file, range) == rest) ++begins;
  }
  return begins;
}

}  // namespace capstan
