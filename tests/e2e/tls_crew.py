"""A crew that speaks mutual TLS."""

import grpc

from authority import ROLES
from crew import Crew


class TlsCrew(Crew):
    """A crew whose processes have certificates of `authority`, each of its role in the job, and each shard of its number
    (those of the role `ps` are of no shard in particular)."""

    def __init__(self, job, authority, job_name="ledger", **settings):
        super().__init__(job, **settings)
        self.authority, self.job_name = authority, job_name
        for role in ROLES:
            self.issue(role)

    def issue(self, role, authority=None, **settings):
        """Anew, for all processes of the role."""
        names = [f"{role}.{self.job_name}.capstan"]
        authority = authority or self.authority
        authority.issue(self.certificates(role), names, **settings)
        if role == "ps":
            for folder in self.folder.glob("tls-ps-*"):
                shard = folder.name.removeprefix("tls-")
                authority.issue(folder, [*names, f"{shard}.{names[0]}"], **settings)

    def certificates(self, holder):
        """The folder of a role, or of a shard: ps-0."""
        return self.folder / f"tls-{holder}"

    def start(self, name, binary, *arguments):
        if binary == "ps" and not self.certificates(name).exists():
            self.certificates(name).mkdir()
            self.issue("ps")
        own = self.certificates(name if binary == "ps" else binary)
        self.environment.setdefault(name, {}).setdefault("CAPSTAN_TLS", str(own))
        super().start(name, binary, *arguments)

    def connect(self, role, address):
        return self.connect_as("admin", role, address)

    def connect_as(self, holder, role, address, options=()):
        """With the certificate of `holder`, a role or a shard."""
        own = self.certificates(holder)
        credentials = grpc.ssl_channel_credentials(*((own / name).read_bytes()
                                                     for name in ("ca.crt", "tls.key", "tls.crt")))
        return grpc.secure_channel(address, credentials,
                                   [*options, ("grpc.ssl_target_name_override", f"{role}.{self.job_name}.capstan")])
