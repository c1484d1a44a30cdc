# For scripts that take minutes: how long each of their phases takes. To be sourced.
#   phase NAME   ends the phase before, if any, and begins this one
#   phase        ends the phase before
#   phases       prints all of them as lines "phase: …", with seconds on the clock and seconds of the processors
# Processor time is that of programs that have ended. It hardly depends on what else the machine does, as time on the clock does.
phase_lines=()
phase_name=
phase_times=$(mktemp "${TMPDIR:-/tmp}/hearth-times.XXXXXX")

# Seconds of processor time in the output of `times`, whose second line is about the programs that have ended.
phase_seconds() {
  awk 'NR == 2 { for (i = 1; i <= 2; i++) { split($i, part, /[ms]/); sum += part[1] * 60 + part[2] } printf "%.0f", sum }' "$1"
}

phase() {
  # Not in a subshell, which would count its own programs only.
  times >"$phase_times"
  local now
  now=$(phase_seconds "$phase_times")
  if [ -n "$phase_name" ]; then
    phase_lines+=("$(printf 'phase: %5d s, %5d s of processor time: %s' \
      $((SECONDS - phase_begin)) $((now - phase_work)) "$phase_name")")
  fi
  phase_name=${1:-}
  phase_begin=$SECONDS
  phase_work=$now
}

phases() {
  phase
  rm -f "$phase_times"
  [ ${#phase_lines[@]} -eq 0 ] || printf '%s\n' "${phase_lines[@]}"
}
