"""Certificates: an authority, and folders as Capstan's processes read them."""

import os
import pathlib
import subprocess
import tempfile

ROLES = ("chief", "ps", "worker", "admin")


def openssl(*arguments):
    subprocess.run(["openssl", *[str(word) for word in arguments]], check=True, capture_output=True)


class Authority:
    """Its files are in `folder`, which it makes."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.folder.mkdir()
        openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
                "-subj", f"/CN={self.folder.name}", "-keyout", self.folder / "ca.key", "-out", self.folder / "ca.crt")

    def issue(self, folder, names, believing=(), days=1):
        """tls.crt of these DNS names, valid for so many days, tls.key and ca.crt, which believes further authorities, too.
        Each file is replaced whole, as Kubernetes replaces those of a secret."""
        folder = pathlib.Path(folder)
        folder.mkdir(exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
            fresh = pathlib.Path(scratch)
            openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN=process",
                    "-addext", "subjectAltName=" + ",".join(f"DNS:{name}" for name in names),
                    "-keyout", fresh / "tls.key", "-out", fresh / "request")
            openssl("x509", "-req", "-in", fresh / "request", "-copy_extensions", "copy", "-days", days,
                    "-CA", self.folder / "ca.crt", "-CAkey", self.folder / "ca.key", "-CAcreateserial",
                    "-out", fresh / "tls.crt")
            (fresh / "ca.crt").write_text("".join((a.folder / "ca.crt").read_text() for a in (self, *believing)))
            for name in ("tls.key", "tls.crt", "ca.crt"):
                os.replace(fresh / name, folder / name)
        return folder
