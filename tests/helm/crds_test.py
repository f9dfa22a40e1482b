"""The custom resources of the chart fit the schemas of the projects that define them, strictly: nothing is missing, of
another type, or unknown. Skips, loudly, where crds.py has not downloaded them."""

import copy
import sys
import unittest

sys.dont_write_bytecode = True
from chart import SETS, SKIP, objects, require_helm, values_of
from crds import MODULES, definition, mistakes

OURS = ("cert-manager.io", "monitoring.coreos.com", "keda.sh")


def custom():
    return [one for name in SETS for one in objects("--values", values_of(name))
            if one["apiVersion"].split("/")[0] in OURS]


class CrdsTest(unittest.TestCase):

    def test_every_custom_resource_fits_its_definition(self):
        for one in custom():
            with self.subTest(kind=one["kind"]):
                self.assertEqual(mistakes(one, CRDS[one["kind"]]), [])

    def test_each_kind_is_in_some_set_of_values(self):
        self.assertEqual({one["kind"] for one in custom()}, set(MODULES))

    def test_a_resource_that_is_wrong_is_told(self):
        monitor = next(one for one in custom() if one["kind"] == "PodMonitor")
        for change, told in (
                (lambda spec: spec.update(selektor=spec["selector"]), "PodMonitor.spec.selektor: is not known"),
                (lambda spec: spec.pop("selector"), "PodMonitor.spec.selector: is missing"),
                (lambda spec: spec["podMetricsEndpoints"][0].update(interval="often"), "is not like"),
                (lambda spec: spec["podMetricsEndpoints"][0].update(port=9090), "9090 is no string"),
                (lambda spec: spec["podMetricsEndpoints"][0]["relabelings"][0].update(action="swap"), "is none of")):
            wrong = copy.deepcopy(monitor)
            change(wrong["spec"])
            with self.subTest(told=told):
                self.assertIn(told, "\n".join(mistakes(wrong, CRDS["PodMonitor"])))
        self.assertIn("is not served", mistakes({**monitor, "apiVersion": "monitoring.coreos.com/v9"}, CRDS["PodMonitor"])[0])


if __name__ == "__main__":
    require_helm()
    CRDS = {kind: definition(kind) for kind in MODULES}
    if None in CRDS.values():
        print("SKIPPED: the definitions are not here (tests/helm/crds.py fetches them); custom resources were not checked")
        raise SystemExit(SKIP)
    unittest.main(verbosity=2)
