// Tests of what every object store must do. A test program compiles object_store_contract.cc and
// says
//
//   INSTANTIATE_TEST_SUITE_P(File, ObjectStoreContract, testing::Values([] { return ...; }));
#ifndef CAPSTAN_TESTS_LIB_OBJECT_STORE_CONTRACT_H_
#define CAPSTAN_TESTS_LIB_OBJECT_STORE_CONTRACT_H_

#include <functional>
#include <memory>

#include "capstan/objectstore/object_store.h"
#include "gtest/gtest.h"

namespace capstan {

// Makes an empty store.
using ObjectStoreMaker = std::function<std::unique_ptr<ObjectStore>()>;

class ObjectStoreContract : public testing::TestWithParam<ObjectStoreMaker> {
 protected:
  ObjectStoreContract() : store_(GetParam()()) {}

  std::unique_ptr<ObjectStore> store_;
};

}  // namespace capstan

#endif  // CAPSTAN_TESTS_LIB_OBJECT_STORE_CONTRACT_H_
