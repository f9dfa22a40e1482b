// What a file is, where it is not what the job says. A pure function.
#ifndef CAPSTAN_DATA_FORMATS_LOOKS_LIKE_H_
#define CAPSTAN_DATA_FORMATS_LOOKS_LIKE_H_

#include <string>
#include <string_view>

namespace capstan {

// Says what data look like that have only one column as csv or tsv, by their first bytes: "a
// Parquet file, which ...", with what to do. Returns an empty text if they look like nothing known.
std::string LooksLike(std::string_view begin);

}  // namespace capstan

#endif  // CAPSTAN_DATA_FORMATS_LOOKS_LIKE_H_
