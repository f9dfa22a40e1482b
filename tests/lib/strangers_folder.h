// A folder of somebody who knows nothing of Capstan, whose things look like Capstan's where they
// can. For tests of all that deletes.
#ifndef CAPSTAN_TESTS_LIB_STRANGERS_FOLDER_H_
#define CAPSTAN_TESTS_LIB_STRANGERS_FOLDER_H_

#include "capstan/objectstore/object_store.h"

namespace capstan {

// Puts the things there; fails the test if they cannot be.
void PutStrangersThings(ObjectStore& folder);

// Fails the test unless each of them is there as it was, and `folder` holds nothing else beside
// them in their folders.
void ExpectStrangersThings(ObjectStore& folder);

}  // namespace capstan

#endif  // CAPSTAN_TESTS_LIB_STRANGERS_FOLDER_H_
