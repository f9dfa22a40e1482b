// Fills a folder with things of somebody who does not know Capstan, but which look like Capstan's
// as far as possible. For tests of all code that deletes.
#ifndef CAPSTAN_TESTS_LIB_STRANGERS_FOLDER_H_
#define CAPSTAN_TESTS_LIB_STRANGERS_FOLDER_H_

#include "capstan/objectstore/object_store.h"

namespace capstan {

// Puts the things into `folder`. Fails the test if that is not possible.
void PutStrangersThings(ObjectStore& folder);

// Fails the test unless each of these things is unchanged, and `folder` holds nothing else beside
// them in their folders.
void ExpectStrangersThings(ObjectStore& folder);

}  // namespace capstan

#endif  // CAPSTAN_TESTS_LIB_STRANGERS_FOLDER_H_
