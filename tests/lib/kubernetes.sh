# A Kubernetes cluster for tests: the one of $KUBECONFIG, which must have the images, or the one that $CAPSTAN_KUBE starts. Must be
# sourced from the project's root, under `set -euo pipefail`.

source tests/lib/toolkit.sh
kube=${CAPSTAN_KUBE:-}

# Prints why there can be no cluster on this machine; prints nothing if there can.
cluster_lack() {
  [[ -z ${KUBECONFIG:-} ]] || return 0
  if [[ -z $kube ]]; then
    echo "neither \$KUBECONFIG nor \$CAPSTAN_KUBE names a cluster (CONTRIBUTING.md)"
  elif ((EUID != 0)); then
    echo "$kube needs root"
  elif ! command -v go >/dev/null; then
    echo "$kube needs a Go toolchain to build the cluster's programs with"
  fi
}

# Installs the programs of the cluster. They include helm and an S3 server, which the tests of the chart and of S3 use. The first time
# this takes ten minutes, as all of them are compiled; later it returns at once.
cluster_tools() {
  [[ -n ${KUBECONFIG:-} ]] || "$kube" install
}

cluster_is_up() {
  [[ -n ${KUBECONFIG:-} ]] || "$kube" kubectl get --raw /readyz >/dev/null 2>&1
}

cluster_image() { # folder that cluster_up has filled, target of the Dockerfile
  "$kube" build-image "capstan/$2:e2e" "$1/image" --file "$1/Dockerfile" --target "$2" && "$kube" load "capstan/$2:e2e"
}

# Starts the cluster with images of the programs in a build's folder, under the tag e2e. The images are made by the last stages of the
# Dockerfile; this takes the place of its first stage, which would compile the same programs.
cluster_up() { # build folder
  local scratch=$1/images program target
  [[ -z ${KUBECONFIG:-} ]] || return 0
  cluster_tools
  "$kube" up
  rm -rf "$scratch"
  for program in capstan chief ps worker; do
    deploy/lib/copy_closure "$1/bin/$program" "$scratch/image/$program"
  done
  {
    echo 'ARG BASE=debian:bookworm-slim'
    echo 'FROM scratch AS build'
    echo 'COPY . /image'
    echo 'FROM scratch AS wheel'
    echo 'COPY install /install'
    sed -n '/^FROM scratch AS image/,$p' Dockerfile
  } >"$scratch/Dockerfile"
  mkdir -p "$scratch/image/install"
  for target in chief ps worker cli; do
    cluster_image "$scratch" "$target"
  done
  # The image for users' programs, if the Python module has been built. Its test is skipped without the image.
  if [[ -d $1/python/capstan_ps ]]; then
    /usr/bin/python3 -B python/build_wheel "$scratch/wheel" --package "$1/python/capstan_ps" >"$scratch/wheel.md"
    /usr/bin/python3 -m zipfile -e "$scratch/wheel/"*.whl "$scratch/image/install"
    chmod +x "$scratch/image/install/capstan_ps/bin/"*
    cp -r --parents deploy/lib deploy/packages.txt "$scratch/image"
    cluster_image "$scratch" torch || echo "!! no image torch: Debian's PyTorch cannot be had" >&2
  fi
}

cluster_down() {
  [[ -n ${KUBECONFIG:-} ]] || "$kube" down
}
