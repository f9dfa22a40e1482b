# The stages of tests/run: each has a name, and its time is kept for the summary. Must be sourced.

stage_names=() stage_seconds=() left_out=()
run_started=$SECONDS

# The exit status of a command whose time was over, as timeout(1) returns it.
readonly out_of_time=124

# Runs a command as the stage `name`. The first stage that fails ends the whole run.
stage() { # name command...
  local name=$1 start=$SECONDS status=0
  shift
  printf '\n== %s\n' "$name"
  # The command runs in a subshell, so that set -e is effective inside functions, too. It is not effective if the stage is part of a
  # condition, as in stage_in_time: there a function of several commands must return the status of each one that matters.
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
  ((status == out_of_time)) && [[ -n ${may_be_left_out:-} ]] && return "$status"
  printf '\n!! %s failed after %d s\n' "$name" $((SECONDS - start)) >&2
  summary build/test/ctest.log build/test/kubernetes.log build/asan/ctest.log build/tsan/ctest.log || true
  exit 1
}

# Runs a stage if there is time for it. The stage starts its long commands by `time_limit`, which ends them `reserve` seconds before the
# end of the run. Returns 1 if the stage was not completed; the summary says so.
stage_in_time() { # reserve name command...
  local reserve=$1 name=$2
  shift 2
  local seconds=$((MINUTES * 60 - reserve - (SECONDS - run_started)))
  local kept=() other
  for other in "${left_out[@]}"; do
    [[ $other == "$name" ]] || kept+=("$other")
  done
  left_out=("${kept[@]}")
  if ((seconds > 60)) && time_limit="timeout --signal=INT --kill-after=60 $seconds" may_be_left_out=yes stage "$name" "$@"; then
    return
  fi
  printf '\n!! %s: not completed, as all is to end within %d minutes\n' "$name" "$MINUTES" >&2
  left_out+=("$name")
  return 1
}

# Returns the status of a run of ctest. If the run was ended because its time was over, the status is 1 if a test had failed before.
status_of_tests() { # log status
  if (($2 == out_of_time)) && grep -qE '\*\*\*(Failed|Timeout|Exception|Not Run)' "$1"; then
    return 1
  fi
  return "$2"
}

# Prints for each failed test its output from the first failure on, or its last lines if it names no failure. So the end of the output of
# a run shows why it failed.
failures() { # ctest log
  awk -v lines=25 '
    function tell(  first, i) {
      if (test == "") return
      first = failure ? failure : count - lines + 1
      printf "\n!! %s:\n", test
      for (i = first < 1 ? 1 : first; i <= count && i < first + lines; ++i) print said[i]
      test = ""
    }
    /^ *([0-9]+\/[0-9]+ Test|Start) +#?[0-9]+: / || /% tests passed, / { tell() }
    test != "" {
      said[++count] = $0
      if (!failure && /^(FAIL|ERROR): |: Failure$|Sanitizer: /) failure = count
    }
    /^ *[0-9]+\/[0-9]+ Test .*\*\*\*(Failed|Timeout|Exception)/ {
      test = $0
      sub(/^.*#[0-9]+: /, "", test)
      sub(/ \.\.+/, " ", test)
      count = failure = 0
    }' "$1"
}

# Prints how long each stage took, which tests were skipped, why tests failed, and how many tests passed and failed. Returns 1 if a test
# failed.
summary() { # ctest logs...
  local i log name passed=0 failed=0 total bad skipped
  printf '\n== Summary\n'
  for i in "${!stage_names[@]}"; do
    printf '%6d s  %s\n' "${stage_seconds[$i]}" "${stage_names[$i]}"
  done
  printf '%6d s  together\n' $((SECONDS - run_started))
  for name in "${left_out[@]}"; do
    printf '\n!! LEFT OUT, as all is to end within %d minutes: %s\n' "$MINUTES" "$name"
  done
  for log in "$@"; do
    # Logs of earlier runs are ignored.
    [[ -f $log && $(stat -c %Y "$log") -ge $run_started_at ]] || continue
    skipped=$(grep -E '\*\*\*Skipped|Not Run|^SKIPPED: ' "$log" || true)
    [[ -z $skipped ]] || printf '\n!! SKIPPED in %s:\n%s\n' "$log" "$skipped"
    failures "$log"
    # "98% tests passed, 2 tests failed out of 120"
    read -r bad total < <(sed -nE 's/.* ([0-9]+) tests? failed out of ([0-9]+)$/\1 \2/p' "$log" | tail -n 1) || continue
    failed=$((failed + bad))
    passed=$((passed + total - bad - $(grep -c '\*\*\*Skipped' "$log" || true)))
  done
  printf '\n%d passed, %d failed\n' "$passed" "$failed"
  ((failed == 0))
}

run_started_at=$(date +%s)
