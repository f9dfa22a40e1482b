# One target a service:
#   docker build --target ps --tag capstan/ps:0.1.0 --build-arg REVISION=$(git rev-parse --short=12 HEAD) .
# An image holds its programs, the shared libraries they need, CA certificates and an SBOM of each program
# (/usr/share/sbom, SPDX): no shell, no package manager, no root; torch, for programs of one's own, has Debian beneath. SIMD is chosen at run time, so an image is as fast as a build on the machine itself.

# What it is built on. For a build that can be repeated, BASE is a digest (BASE=debian@sha256:...) and SNAPSHOT a moment of
# snapshot.debian.org (20261101T000000Z); deploy/release insists on both.
ARG BASE=debian:bookworm-slim

FROM ${BASE} AS build
WORKDIR /src
ENV LANG=C.UTF-8
COPY deploy/packages.txt deploy/packages.txt
COPY deploy/lib/packages.sh deploy/lib/packages.sh
ARG SNAPSHOT=
RUN bash -euo pipefail -c 'source deploy/lib/packages.sh && { [[ -z $SNAPSHOT ]] || packages_pin "$SNAPSHOT"; } \
      && packages_install build' \
    && rm -rf /var/lib/apt/lists/*
COPY . .
ARG REVISION=unknown
ARG VERSION=0.1.0
ARG SOURCE_DATE_EPOCH=
# With the flags that the tests run with. One compile serves all targets: built one after the other
# with the same REVISION they share this layer. The compiler's cache outlives it: where the builder keeps
# cache mounts, a changed file compiles with its neighbours alone.
RUN --mount=type=cache,target=/ccache \
    export CCACHE_DIR=/ccache && cmake -S . -B build/image -G Ninja -DCAPSTAN_REVISION="$REVISION" \
      -DCAPSTAN_BUILD_TESTS=OFF -DCAPSTAN_BUILD_BENCHMARKS=OFF -DCAPSTAN_UNITY=ON \
    && ninja -C build/image capstan chief ps worker \
    && for program in capstan chief ps worker; do \
         deploy/lib/copy_closure "build/image/bin/$program" "/image/$program" \
         && deploy/lib/make_sbom "/image/$program" "$program" "$VERSION" >"/$program.spdx.json" \
         && install -D -m 644 "/$program.spdx.json" "/image/$program/usr/share/sbom/$program.spdx.json" || exit 1; \
       done

# The worker as a Python module. It shares what was compiled above.
FROM build AS wheel
ARG SNAPSHOT=
RUN bash -euo pipefail -c 'source deploy/lib/packages.sh && { [[ -z $SNAPSHOT ]] || packages_pin "$SNAPSHOT"; } \
      && packages_install python' \
    && rm -rf /var/lib/apt/lists/* \
    && /usr/bin/python3 -m pip install --no-cache-dir --target build/nanobind nanobind==3.1.0
ARG SOURCE_DATE_EPOCH=
RUN --mount=type=cache,target=/ccache \
    export CCACHE_DIR=/ccache && cmake -S . -B build/image -DCAPSTAN_PYTHON_MODULE=ON && ninja -C build/image capstan_ps capstan chief ps worker \
    && python/build_wheel /wheel --package build/image/python/capstan_ps \
    && /usr/bin/python3 -m zipfile -e /wheel/*.whl /install \
    && chmod +x /install/capstan_ps/bin/*

FROM scratch AS image
ARG REVISION=unknown
ARG VERSION=0.1.0
LABEL org.opencontainers.image.title="capstan" \
      org.opencontainers.image.description="A Kubernetes-native parameter server" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}" \
      org.opencontainers.image.licenses="Apache-2.0"
USER 65532:65532

FROM image AS worker
COPY --from=build /image/worker /
EXPOSE 7001 9090
ENTRYPOINT ["/usr/bin/worker"]

FROM image AS ps
COPY --from=build /image/ps /
EXPOSE 7000 7001 9090
ENTRYPOINT ["/usr/bin/ps"]

FROM image AS chief
# With the command beside it: kubectl exec ctr-chief-0 -- capstan status.
COPY --from=build /image/chief /image/capstan /
EXPOSE 7000 7001 9090
ENTRYPOINT ["/usr/bin/chief"]

# Holds the services too: `capstan train` starts a whole crew in one container.
FROM image AS cli
COPY --from=build /image/chief /image/ps /image/worker /image/capstan /
ENTRYPOINT ["/usr/bin/capstan"]

# Workers of a model of one's own: Debian's Python and PyTorch (CPU), and capstan_ps. Other images derive from it: docs/python.md.
FROM ${BASE} AS torch
ARG SNAPSHOT=
WORKDIR /packages
COPY deploy/packages.txt deploy/packages.txt
COPY deploy/lib/packages.sh deploy/lib/packages.sh
RUN bash -euo pipefail -c 'source deploy/lib/packages.sh && { [[ -z $SNAPSHOT ]] || packages_pin "$SNAPSHOT"; } \
      && packages_install torch' \
    && rm -rf /var/lib/apt/lists/*
# Copied, not mounted for a command: a builder may take the layer of an earlier module where a mount alone has changed.
COPY --from=wheel /install /usr/lib/python3/dist-packages
RUN ln -s ../../lib/python3/dist-packages/capstan_ps/bin/capstan /usr/local/bin/capstan
COPY --from=build /image/worker/etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
ARG REVISION=unknown
ARG VERSION=0.1.0
LABEL org.opencontainers.image.title="capstan-torch" \
      org.opencontainers.image.description="PyTorch models of one's own on Capstan, a Kubernetes-native parameter server" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}" \
      org.opencontainers.image.licenses="Apache-2.0"
WORKDIR /app
# A set of names has the same order in each process.
ENV PYTHONHASHSEED=0
# Threads of a step sleep while they have nothing to do.
ENV OMP_WAIT_POLICY=passive
USER 65532:65532
EXPOSE 7001 9090
ENTRYPOINT ["/usr/bin/python3"]
