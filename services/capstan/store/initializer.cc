#include "capstan/store/initializer.h"

#include <bit>
#include <cmath>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "capstan/base/hash.h"
#include "capstan/store/normal.h"

namespace capstan {
namespace {

template <typename ValueAt>
void Fill(void* values, size_t count, ValueAt value_at) {
  char* out = static_cast<char*>(values);
  for (size_t i = 0; i < count; ++i) {
    const float value = value_at(i);
    std::memcpy(out + i * sizeof(float), &value, sizeof(float));
  }
}

}  // namespace

absl::Status CheckInitializer(const v1::Initializer& initializer) {
  if (!v1::InitializerKind_IsValid(initializer.kind())) {
    return absl::InvalidArgumentError(
        absl::StrCat("initializer: kind ", static_cast<int>(initializer.kind()), " is unknown"));
  }
  if (std::isfinite(initializer.scale())) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("initializer: scale is ", initializer.scale(), ", expected a finite number"));
}

void FillInitial(const v1::Initializer& initializer, InitialPlace place, void* values,
                 size_t count) {
  const double scale = initializer.scale();
  const auto draw = [&place](size_t i) {
    return Unit(Draw(place.seed, place.stream, place.index + i));
  };
  switch (initializer.kind()) {
    case v1::INITIALIZER_KIND_NORMAL:
      return Fill(values, count, [&](size_t i) { return scale * NormalQuantile(draw(i)); });
    case v1::INITIALIZER_KIND_UNIFORM:
      return Fill(values, count, [&](size_t i) { return scale * (2 * draw(i) - 1); });
    case v1::INITIALIZER_KIND_CONSTANT:
      return Fill(values, count, [&](size_t) { return scale; });
    default:
      std::memset(values, 0, count * sizeof(float));
  }
}

}  // namespace capstan
