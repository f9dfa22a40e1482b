"""A crew that speaks mutual TLS."""

import grpc

from authority import ROLES
from crew import Crew


class TlsCrew(Crew):
    """A crew whose processes have certificates of `authority`, each of its role in the job."""

    def __init__(self, job, authority, job_name="ledger", **settings):
        super().__init__(job, **settings)
        self.authority, self.job_name = authority, job_name
        for role in ROLES:
            self.issue(role)

    def issue(self, role, authority=None, **settings):
        """Anew, for all processes of the role."""
        names = [f"{role}.{self.job_name}.capstan"]
        (authority or self.authority).issue(self.certificates(role), names, **settings)

    def certificates(self, role):
        return self.folder / f"tls-{role}"

    def start(self, name, binary, *arguments):
        self.environment.setdefault(name, {"CAPSTAN_TLS": str(self.certificates(binary))})
        super().start(name, binary, *arguments)

    def connect(self, role, address):
        own = self.certificates("admin")
        credentials = grpc.ssl_channel_credentials(*((own / name).read_bytes()
                                                     for name in ("ca.crt", "tls.key", "tls.crt")))
        return grpc.secure_channel(address, credentials,
                                   [("grpc.ssl_target_name_override", f"{role}.{self.job_name}.capstan")])
