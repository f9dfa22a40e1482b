"""That the tests which the documents name are there."""

import pathlib
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).parent))
from named_tests import DOCUMENTS, ROOT, known_tests, unknown


class NamedTestsTest(unittest.TestCase):

    def test_what_the_documents_name_is_there(self):
        known = known_tests()
        for document in DOCUMENTS:
            with self.subTest(document):
                self.assertEqual(unknown((ROOT / document).read_text(), known), [])

    def test_a_name_that_is_none_is_found(self):
        known = ({"RoleTest"}, {("RoleTest", "OtherNamesAreNone")}, {"tls_is_sent_away"})
        self.assertEqual(unknown("| `RoleTest.OtherNamesAreNone`, `.OtherNamesAreNone`, `hostile_peers: tls_is_sent_away` |", known),
                         [])
        for name in ("RoleTest.Nothing", "RuleTest", "hostile_peers: tls_is_let_in"):
            self.assertEqual(unknown(f"| a row | `{name}` |", known), [name])
        self.assertEqual(unknown("| `RoleTest.OtherNamesAreNone`, `.Nothing` |", known), [".Nothing"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
