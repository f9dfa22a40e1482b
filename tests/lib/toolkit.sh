# What tests can use of a machine that is no part of the repository. To be sourced. Each thing has a variable, which whoever
# runs the tests may set, also to nothing; without it a folder `shared` beside the repository is looked at, which few machines have. What
# is found nowhere stays unset, and the tests that need it are skipped, loudly. CONTRIBUTING.md lists them.
#   CAPSTAN_DATA    the sets of docs/datasets.md; without it data/ of the repository
#   CAPSTAN_KUBE    a program that starts a Kubernetes cluster on this machine; $KUBECONFIG, of any cluster, does as well
#   CAPSTAN_TORCH_PYTHON  a Python with torch and NumPy, for tests/e2e/quality_torch_test.py
#   CAPSTAN_PEERS   a program that runs other parameter servers, for tests/bench/record

capstan_shared=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../.." && pwd)/shared
[[ -n ${CAPSTAN_DATA+set} || ! -d $capstan_shared/data ]] || export CAPSTAN_DATA=$capstan_shared/data
[[ -n ${CAPSTAN_KUBE+set} || ! -x $capstan_shared/kube/kube ]] || export CAPSTAN_KUBE=$capstan_shared/kube/kube
[[ -n ${CAPSTAN_PEERS+set} || ! -x $capstan_shared/peers/peers ]] || export CAPSTAN_PEERS=$capstan_shared/peers/peers
unset capstan_shared
