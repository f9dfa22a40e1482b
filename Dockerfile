# One target a service: docker build --target ps --build-arg REVISION=$(git rev-parse --short=12 HEAD) .
# An image holds one program and the libraries it needs: no shell, no package manager, no root.

FROM debian:12 AS build
WORKDIR /src
COPY deploy/packages.txt deploy/packages.txt
COPY deploy/lib deploy/lib
SHELL ["/bin/bash", "-euo", "pipefail", "-c"]
RUN source deploy/lib/packages.sh && packages_install build && rm -rf /var/lib/apt/lists/*
COPY . .
ARG REVISION=unknown
RUN cmake -S . -B /build -G Ninja -DCMAKE_BUILD_TYPE=Release -DCAPSTAN_REVISION="$REVISION" \
      -DCAPSTAN_BUILD_TESTS=OFF -DCAPSTAN_BUILD_BENCHMARKS=OFF \
    && ninja -C /build capstan chief ps worker \
    && for program in capstan chief ps worker; do \
         deploy/lib/copy_closure "/build/bin/$program" "/image/$program"; \
       done

FROM scratch AS chief
COPY --from=build /image/chief /
USER 65532:65532
ENTRYPOINT ["/usr/bin/chief"]

FROM scratch AS worker
COPY --from=build /image/worker /
USER 65532:65532
ENTRYPOINT ["/usr/bin/worker"]

FROM scratch AS ps
COPY --from=build /image/ps /
USER 65532:65532
ENTRYPOINT ["/usr/bin/ps"]

FROM scratch AS capstan
COPY --from=build /image/capstan /
USER 65532:65532
ENTRYPOINT ["/usr/bin/capstan"]
