# A cluster for tests: that of $KUBECONFIG, which must have the images, or the one that $CAPSTAN_KUBE starts. To be sourced
# from the project's root, under `set -euo pipefail`.

source tests/lib/toolkit.sh
kube=${CAPSTAN_KUBE:-}

# Says why there can be no cluster here; nothing: there can.
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

# What the cluster is made of, helm and an S3 server among it, with which the tests of the chart and of S3 run. At once where
# it is there; the first time ten minutes, as all of it is compiled.
cluster_tools() {
  [[ -n ${KUBECONFIG:-} ]] || "$kube" install
}

cluster_is_up() {
  [[ -n ${KUBECONFIG:-} ]] || "$kube" kubectl get --raw /readyz >/dev/null 2>&1
}

# Starts it with images of the programs in a build's folder, tag e2e: what the Dockerfile's last stages make, where its
# first one would have compiled the same.
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
    echo 'FROM scratch AS build'
    echo 'COPY . /image'
    sed -n '/^FROM scratch AS image/,$p' Dockerfile
  } >"$scratch/Dockerfile"
  for target in chief ps worker cli; do
    "$kube" build-image "capstan/$target:e2e" "$scratch/image" --file "$scratch/Dockerfile" --target "$target"
    "$kube" load "capstan/$target:e2e"
  done
}

cluster_down() {
  [[ -n ${KUBECONFIG:-} ]] || "$kube" down
}
