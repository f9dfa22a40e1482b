// Recognizes the format of a file that is not what the job says. A pure function.
#ifndef CAPSTAN_DATA_FORMATS_LOOKS_LIKE_H_
#define CAPSTAN_DATA_FORMATS_LOOKS_LIKE_H_

#include <string>
#include <string_view>

namespace capstan {

// Says what data look like by their first bytes, where they have only one column if read as csv or
// tsv: "a Parquet file, which ...", with what to do. Returns an empty text if they look like no
// known format.
std::string LooksLike(std::string_view begin);

}  // namespace capstan

#endif  // CAPSTAN_DATA_FORMATS_LOOKS_LIKE_H_
