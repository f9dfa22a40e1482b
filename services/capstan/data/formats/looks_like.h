// What a file is, where it is not what the job says. A pure function.
#ifndef CAPSTAN_DATA_FORMATS_LOOKS_LIKE_H_
#define CAPSTAN_DATA_FORMATS_LOOKS_LIKE_H_

#include <string>
#include <string_view>

namespace capstan {

// Of the first bytes of data that have only one column as csv or tsv: "a Parquet file, which ...",
// with what to do; empty: they look like nothing known.
std::string LooksLike(std::string_view begin);

}  // namespace capstan

#endif  // CAPSTAN_DATA_FORMATS_LOOKS_LIKE_H_
