"""The README's section on Kubernetes, word for word: each line of its shell block runs as it stands there, in a
namespace of its own. Only the images' names are said beside it, to helm. Skips, loudly, without a cluster."""

import os
import pathlib
import re
import sys
import tempfile
import unittest

import yaml

sys.path.insert(0, str(pathlib.Path(__file__).parent))
sys.dont_write_bytecode = True
from cluster import KUBE, ROOT, SMALL, Namespace, Release, require_cluster, run

ROWS = 5000000  # Of the example.

# helm as it is, with the images' names behind `install`.
HELM = """#!/bin/bash
PATH=${PATH#*:}
if [[ $1 == install ]]; then exec helm "$@" --values %s; fi
exec helm "$@"
"""


def shell_block(heading):
    """The lines of the first indented block below a heading of the README."""
    section = re.split(r"(?m)^## ", (ROOT / "README.md").read_text())
    text, = (one for one in section if one.startswith(heading + "\n"))
    return re.search(r"(?m)(?:^    .+\n)+", text).group().splitlines()


class ReadmeTest(unittest.TestCase):

    def test_the_section_on_kubernetes_does_what_it_says(self):
        with Namespace("capstan-e2e-readme") as namespace, tempfile.TemporaryDirectory() as folder:
            release = Release(namespace, "ctr", {})
            shell = self.prepare(pathlib.Path(folder), namespace)
            for line in shell_block("On Kubernetes"):
                print("$" + line[3:], flush=True)
                if "delete pod" in line:
                    release.until_examples(100000, timeout=300)  # In the middle of training, on a fast machine, too.
                done = shell(line)
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
                if "capstan status" in line:
                    self.assertIn("ps-0", done.stdout)
            status = release.status()
            self.assertEqual(status["state"], "JOB_STATE_COMPLETED")
            self.assertEqual(int(status["examples"]), ROWS)
            self.assertEqual(status["losses"], [], "the shard that was deleted hands over what it has")

    def prepare(self, folder, namespace):
        """A function that runs a line of bash, with kubectl and helm at home in the namespace."""
        (folder / "images.yaml").write_text(yaml.safe_dump({"image": SMALL["image"]}))
        (folder / "helm").write_text(HELM % (folder / "images.yaml"))
        (folder / "helm").chmod(0o755)
        programs = os.environ.get("CAPSTAN_BIN", ROOT / "build/dev/bin")
        (folder / "capstan").symlink_to(pathlib.Path(programs).resolve() / "capstan")
        own = os.environ.get("KUBECONFIG")
        prefix = [] if own else [KUBE, "exec", "--"]

        def shell(line):
            text = (f"cp ${{KUBECONFIG}} {folder}/config && export KUBECONFIG={folder}/config && "
                    f"kubectl config set-context --current --namespace={namespace.name} >/dev/null && "
                    f"cd {ROOT} && PATH={folder}:$PATH && {line.strip()}")
            return run(*prefix, "bash", "-c", text, check=False, timeout=1860)
        return shell


if __name__ == "__main__":
    require_cluster()
    unittest.main(verbosity=2)
