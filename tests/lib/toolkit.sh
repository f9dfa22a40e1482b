# Finds the things that tests use and that are not part of the repository. Must be sourced. Each thing has a variable, which the caller
# of the tests may set, also to an empty value. For a variable that is not set, the folder `shared` beside the repository is searched,
# which few machines have. If nothing is found there either, the variable stays unset, and the tests that need it are skipped with a
# message. CONTRIBUTING.md lists the variables.
#   CAPSTAN_DATA    the sets of docs/datasets.md; by default those in data/ of the repository
#   CAPSTAN_KUBE    a program that starts a Kubernetes cluster on this machine; $KUBECONFIG, for any cluster, can be set instead
#   CAPSTAN_TORCH_PYTHON  a Python with torch and NumPy, for tests/e2e/quality_torch_test.py
#   CAPSTAN_PEERS   a program that runs other parameter servers, for tests/bench/record

capstan_shared=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../.." && pwd)/shared
[[ -n ${CAPSTAN_DATA+set} || ! -d $capstan_shared/data ]] || export CAPSTAN_DATA=$capstan_shared/data
[[ -n ${CAPSTAN_KUBE+set} || ! -x $capstan_shared/kube/kube ]] || export CAPSTAN_KUBE=$capstan_shared/kube/kube
[[ -n ${CAPSTAN_PEERS+set} || ! -x $capstan_shared/peers/peers ]] || export CAPSTAN_PEERS=$capstan_shared/peers/peers
unset capstan_shared
