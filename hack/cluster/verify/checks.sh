# Sourced by the checks beside it: a line for each, and exit code 1 at the end if one failed.
set -uo pipefail
failed=0
output=$(mktemp)
trap 'rm -f "$output"; ((failed == 0)) || exit 1' EXIT

passes() { echo "  ok      $1"; }
fails() {
  echo "  FAILED  $1: $2"
  failed=1
}
# name command...: it succeeds within some tries. kube-proxy writes its rules once a second.
check() {
  local name=$1 _
  shift
  for _ in $(seq 10); do
    "$@" >"$output" 2>&1 && passes "$name" && return
    sleep 1
  done
  fails "$name" "$(tail -n 2 "$output")"
}
# name text command...: it is refused with this text.
refused() {
  local name=$1 text=$2 _
  shift 2
  for _ in $(seq 10); do
    ! "$@" >"$output" 2>&1 && grep -q "$text" "$output" && passes "$name" && return
    sleep 1
  done
  fails "$name" "$(tail -n 2 "$output")"
}
