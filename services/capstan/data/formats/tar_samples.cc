#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "capstan/base/status.h"
#include "capstan/data/formats/quote.h"
#include "capstan/data/formats/samples.h"
#include "capstan/data/formats/tar_header.h"

namespace capstan {
namespace {

// A header with a larger size counts as damaged: skipping that many bytes might skip the rest of
// the file.
constexpr uint64_t kMostMemberBytes = uint64_t{1} << 30;
constexpr uint64_t kMostExtensionBytes = uint64_t{1} << 20;
constexpr uint64_t kMostLabelBytes = 1024;

constexpr char kNoHeader[] = "expected the header of a tar's member (ustar)";
constexpr char kCutShort[] = "the file ends within the member that begins here";

uint64_t RoundUp(uint64_t bytes) { return (bytes + kTarBlock - 1) / kTarBlock * kTarBlock; }

// A member whose header was read; its content comes next in the file.
struct Member {
  std::string name;
  uint64_t begin = 0;   // Where its first header is: an extension's, or its own.
  uint64_t header = 0;  // Where the member's own header is.
  uint64_t size = 0;

  // "a/0001" and "jpg" for "a/0001.jpg"; both empty: it belongs to no sample.
  std::string sample = {};
  std::string end = {};
};

void SplitName(Member& member) {
  const size_t folder = member.name.rfind('/') + 1;  // 0 where there is no slash.
  const size_t dot = member.name.find('.', folder);
  if (dot == std::string::npos || dot == folder) return;
  member.sample = member.name.substr(0, dot);
  member.end = absl::AsciiStrToLower(member.name.substr(dot + 1));
}

class TarSamples : public SampleStream {
 public:
  TarSamples(ByteReader bytes, const SampleRange& range, const v1::ImageSpec& image)
      : bytes_(std::move(bytes)),
        range_(range),
        images_({image.image_member()}),
        label_(image.label_member().empty() ? "cls" : image.label_member()),
        before_(range.begin == 0 || range.at_sample ? Before::kNothing : Before::kMember) {
    if (image.image_member().empty()) images_ = {"jpg", "jpeg", "png"};
  }

  absl::StatusOr<bool> Next(Sample& sample) override;
  uint64_t offset() const override { return bytes_.offset(); }
  std::optional<uint64_t> next_begin() const override {
    if (!next_.member || next_.damage) return std::nullopt;
    return next_.member->begin;
  }

 private:
  // What still has to be skipped as part of the previous range, and how far the reading beyond this
  // range's end has come: see NewTarSamples.
  enum class Before { kMember, kSampleOfNext, kSample, kNothing };
  enum class After { kMember, kSampleOfNext, kSample };

  struct Damage {
    uint64_t byte = 0;
    const char* error = kNoHeader;
  };
  // What comes next in the file; if it is neither damage nor a member, the end.
  struct Found {
    std::optional<Member> member = std::nullopt;
    std::optional<Damage> damage = std::nullopt;  // Damage before the member.
  };

  absl::StatusOr<Found> FindMember();
  absl::StatusOr<std::optional<TarHeader>> FindHeader(std::optional<Damage>& damage);
  absl::StatusOr<bool> ReadExtension(const TarHeader& header);
  bool IsOver(const Member& member);
  bool IsToBePassedOver(const Member& member);
  absl::Status Take(const Member& member, Sample& sample);
  absl::Status ReadContent(const Member& member, uint64_t most, std::string& content,
                           Sample& sample);
  // Returns false if the file ends within the member's content. The content of the last member need
  // not be padded.
  absl::StatusOr<bool> Pass(const Member& member);
  absl::Status PassOfSample(const Member& member, Sample& sample);
  bool IsImage(const Member& member) const {
    return std::find(images_.begin(), images_.end(), member.end) != images_.end();
  }

  ByteReader bytes_;
  const SampleRange range_;
  std::vector<std::string> images_;
  const std::string label_;
  bool aligned_ = false;
  // Extensions that apply to the next header.
  std::vector<std::pair<char, std::string>> extensions_;
  Before before_;
  std::string passed_over_;  // With Before::kSample: the name of the skipped sample.
  After after_ = After::kMember;
  std::string last_;  // With After::kSample: the name of the last sample of this range.
  bool over_ = false;
  Found next_;  // Read ahead, and not yet added to a sample.
};

// Finds the next header. If a block on the way is neither a header nor zeros, `damage` says where
// the first such block is, and the search continues after it.
absl::StatusOr<std::optional<TarHeader>> TarSamples::FindHeader(std::optional<Damage>& damage) {
  while (true) {
    CAPSTAN_ASSIGN_OR_RETURN(const std::string_view block, bytes_.Peek(kTarBlock));
    if (block.empty()) return std::nullopt;
    std::optional<TarHeader> header = ParseTarHeader(block);
    const uint64_t most = header && header->is_extension() ? kMostExtensionBytes : kMostMemberBytes;
    if (header && header->size <= most) {
      CAPSTAN_RETURN_IF_ERROR(bytes_.Skip(kTarBlock).status());
      return header;
    }
    const bool zeros = std::all_of(block.begin(), block.end(), [](char c) { return c == 0; });
    if (!zeros && !damage) damage = Damage{bytes_.offset()};
    CAPSTAN_RETURN_IF_ERROR(bytes_.Skip(block.size()).status());
  }
}

// Returns false if the file ends within the extension.
absl::StatusOr<bool> TarSamples::ReadExtension(const TarHeader& header) {
  std::string content;
  CAPSTAN_ASSIGN_OR_RETURN(const bool whole, bytes_.Read(header.size, content));
  if (!whole) return false;
  extensions_.emplace_back(header.kind, std::move(content));
  return bytes_.Skip(RoundUp(header.size) - header.size);
}

absl::StatusOr<TarSamples::Found> TarSamples::FindMember() {
  if (!aligned_) {
    aligned_ = true;
    CAPSTAN_RETURN_IF_ERROR(bytes_.Skip(RoundUp(range_.begin) - bytes_.offset()).status());
  }
  std::optional<uint64_t> begin;
  Found found;
  while (true) {
    CAPSTAN_ASSIGN_OR_RETURN(std::optional<TarHeader> header, FindHeader(found.damage));
    // Extensions before the damage do not apply to the header after it.
    if (found.damage) extensions_.clear();
    if (!header) return found;
    const uint64_t place = bytes_.offset() - kTarBlock;
    if (extensions_.empty()) begin = place;
    if (header->is_extension()) {
      CAPSTAN_ASSIGN_OR_RETURN(const bool whole, ReadExtension(*header));
      if (!whole && !found.damage) found.damage = Damage{place, kCutShort};
      if (found.damage) return found;
      continue;
    }
    for (const auto& [kind, content] : extensions_) ApplyTarExtension(kind, content, *header);
    extensions_.clear();
    if (header->size > kMostMemberBytes) {  // An extension may have another size than the header.
      if (!found.damage) found.damage = Damage{place};
      continue;
    }
    found.member = Member{.name = header->name,
                          .begin = begin.value_or(place),
                          .header = place,
                          .size = header->size};
    if (header->is_file()) SplitName(*found.member);
    if (header->is_file()) return found;
    // The content of a member that is not a file is skipped at once, so that damage in it is
    // noticed.
    CAPSTAN_ASSIGN_OR_RETURN(const bool whole, Pass(*found.member));
    found.member.reset();
    if (!whole && !found.damage) found.damage = Damage{place, kCutShort};
    if (found.damage) return found;
  }
}

absl::StatusOr<bool> TarSamples::Pass(const Member& member) {
  CAPSTAN_ASSIGN_OR_RETURN(const bool whole, bytes_.Skip(member.size));
  if (!whole) return false;
  CAPSTAN_RETURN_IF_ERROR(bytes_.Skip(RoundUp(member.size) - member.size).status());
  return true;
}

// Skips a member of a sample that is neither its image nor its label.
absl::Status TarSamples::PassOfSample(const Member& member, Sample& sample) {
  CAPSTAN_ASSIGN_OR_RETURN(const bool whole, Pass(member));
  if (!whole && sample.error.empty()) {
    sample.error = absl::StrCat("the file ends within member ", Quote(member.name), " of ",
                                member.size, " bytes");
  }
  return absl::OkStatus();
}

// Returns true if the sample that this member begins belongs to the next range.
bool TarSamples::IsOver(const Member& member) {
  if (after_ == After::kMember) {
    if (member.header >= range_.end) after_ = After::kSampleOfNext;
    return false;
  }
  if (member.sample.empty()) return false;
  if (after_ == After::kSampleOfNext) {
    after_ = After::kSample;
    last_ = member.sample;
  }
  return member.sample != last_;
}

bool TarSamples::IsToBePassedOver(const Member& member) {
  if (before_ == Before::kMember) {
    before_ = Before::kSampleOfNext;
    return true;
  }
  if (member.sample.empty()) return true;
  if (before_ == Before::kSampleOfNext) {
    before_ = Before::kSample;
    passed_over_ = member.sample;
  }
  if (before_ == Before::kSample && member.sample != passed_over_) before_ = Before::kNothing;
  return before_ != Before::kNothing;
}

absl::Status TarSamples::ReadContent(const Member& member, uint64_t most, std::string& content,
                                     Sample& sample) {
  if (member.size > most) {
    sample.error = absl::StrCat("member ", Quote(member.name), " of ", member.size,
                                " bytes; at most ", most, " are possible");
    return Pass(member).status();
  }
  CAPSTAN_ASSIGN_OR_RETURN(bool whole, bytes_.Read(member.size, content));
  if (whole) {
    return bytes_.Skip(RoundUp(member.size) - member.size).status();
  }
  sample.error = absl::StrCat("the file ends within member ", Quote(member.name), ", after ",
                              content.size(), " of ", member.size, " bytes");
  return absl::OkStatus();
}

absl::Status TarSamples::Take(const Member& member, Sample& sample) {
  const bool image = IsImage(member);
  const bool label = member.end == label_;
  if ((image && !sample.image.empty()) || (label && sample.has_label)) {
    sample.error = absl::StrCat("has two members that are its ", image ? "image" : "label");
  }
  if (!image && !label) return PassOfSample(member, sample);
  std::string& content = image ? sample.image : sample.label;
  CAPSTAN_RETURN_IF_ERROR(
      ReadContent(member, image ? kMostImageBytes : kMostLabelBytes, content, sample));
  if (image && member.size == 0) sample.error = absl::StrCat(Quote(member.name), " is empty");
  sample.has_label = sample.has_label || label;
  return absl::OkStatus();
}

absl::StatusOr<bool> TarSamples::Next(Sample& sample) {
  sample = {};
  std::string name;
  while (!over_) {
    if (!next_.member && !next_.damage) {
      CAPSTAN_ASSIGN_OR_RETURN(next_, FindMember());
    }
    if (next_.damage) {
      if (!name.empty()) break;
      const Damage damage = *std::exchange(next_.damage, std::nullopt);
      if (before_ != Before::kNothing) continue;
      sample.place = absl::StrCat("byte ", damage.byte);
      sample.error = damage.error;
      return true;
    }
    if (!next_.member) break;
    const Member member = *next_.member;
    if (!name.empty() && !member.sample.empty() && member.sample != name) break;
    next_.member.reset();
    over_ = IsOver(member);
    if (over_) break;
    if (IsToBePassedOver(member)) {
      CAPSTAN_ASSIGN_OR_RETURN(const bool whole, Pass(member));
      if (!whole) next_.damage = Damage{member.header, kCutShort};
      continue;
    }
    if (name.empty()) {
      name = member.sample;
      sample.place = absl::StrCat("sample ", Quote(name), " at byte ", member.header);
    }
    CAPSTAN_RETURN_IF_ERROR(Take(member, sample));
  }
  if (name.empty()) return false;
  if (sample.image.empty() && sample.error.empty()) {
    sample.error = absl::StrCat("has no image (a member that ends in ",
                                images_.size() > 1 ? "jpg, jpeg or png" : images_.front(), ")");
  }
  return true;
}

}  // namespace

std::unique_ptr<SampleStream> NewTarSamples(ByteReader bytes, const SampleRange& range,
                                            const v1::ImageSpec& image) {
  return std::make_unique<TarSamples>(std::move(bytes), range, image);
}

}  // namespace capstan
