# Stages of tests/run: each is named, timed and remembered. To be sourced.

stage_names=() stage_seconds=()
run_started=$SECONDS

# Runs a command under a name; the whole run ends with the first that fails.
stage() { # name command...
  local name=$1 start=$SECONDS status=0
  shift
  printf '\n== %s\n' "$name"
  # In a subshell of its own, so that set -e holds inside functions too.
  set +e
  (
    set -e
    "$@"
  )
  status=$?
  set -e
  stage_names+=("$name")
  stage_seconds+=($((SECONDS - start)))
  ((status == 0)) && return
  printf '\n!! %s failed after %d s\n' "$name" $((SECONDS - start)) >&2
  summary build/test/ctest.log build/test/python.log build/test/kubernetes.log build/asan/ctest.log build/tsan/ctest.log || true
  exit 1
}

# Says how long each stage took, which tests were skipped, and how many passed and failed. Returns 1
# if one failed.
summary() { # ctest logs...
  local i log passed=0 failed=0 total bad skipped
  printf '\n== Summary\n'
  for i in "${!stage_names[@]}"; do
    printf '%6d s  %s\n' "${stage_seconds[$i]}" "${stage_names[$i]}"
  done
  printf '%6d s  together\n' $((SECONDS - run_started))
  for log in "$@"; do
    # A log of an earlier run says nothing about this one.
    [[ -f $log && $(stat -c %Y "$log") -ge $run_started_at ]] || continue
    skipped=$(grep -E '\*\*\*Skipped|Not Run' "$log" || true)
    [[ -z $skipped ]] || printf '\n!! SKIPPED in %s:\n%s\n' "$log" "$skipped"
    # "98% tests passed, 2 tests failed out of 120"
    read -r bad total < <(sed -nE 's/.* ([0-9]+) tests? failed out of ([0-9]+)$/\1 \2/p' "$log" | tail -n 1) || continue
    failed=$((failed + bad))
    passed=$((passed + total - bad - $(grep -c '\*\*\*Skipped' "$log" || true)))
  done
  printf '\n%d passed, %d failed\n' "$passed" "$failed"
  ((failed == 0))
}

run_started_at=$(date +%s)
