#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "capstan/config/sections.h"
#include "capstan/config/spelling.h"

namespace capstan {
namespace {

void CheckFeature(Section& in, const std::string& name, const v1::DataSpec& data) {
  std::vector<absl::string_view> names;
  for (const v1::FeatureSpec& feature : data.features()) {
    if (feature.name() == name) return;
    names.emplace_back(feature.name());
  }
  std::string what = absl::StrCat(Shown(name), " is none of data.features");
  const absl::string_view nearest = Nearest(name, names);
  if (!nearest.empty()) absl::StrAppend(&what, "; did you mean ", nearest, "?");
  in.Refuse("feature", what);
}

}  // namespace

void ReadNegatives(Section in, v1::DataSpec& data) {
  v1::NegativeSpec out;
  out.set_feature(in.Text("feature"));
  out.set_file(in.Text("file"));
  out.set_per_batch(static_cast<uint32_t>(in.Whole("per_batch")));
  out.set_share(in.OneOf<v1::CandidateShare>("from"));
  out.set_distortion(static_cast<float>(in.Number("distortion")));
  bool given = false;
  for (const char* key : {"feature", "file", "per_batch", "from", "distortion"}) {
    given = given || in.Has(key);
  }
  if (!given) return;
  if (!in.Has("feature")) in.Refuse("feature", "is missing; expected one of data.features");
  if (!in.Has("file")) in.Refuse("file", "is missing; expected a file of candidates, an id a line");
  if (!in.Has("per_batch")) in.Refuse("per_batch", "is missing; expected a number, such as 1000");
  if (in.Has("feature")) CheckFeature(in, out.feature(), data);
  *data.mutable_negatives() = std::move(out);
}

}  // namespace capstan
