#!/usr/bin/env bash
# Installs Debian packages. Waits for other runs of apt, as on a new machine that installs its updates, and repeats
# downloads. LOCK_S is the longest wait in seconds.
set -euo pipefail

export DEBIAN_FRONTEND=noninteractive
lock_s=${LOCK_S:-300}
options=(-o "DPkg::Lock::Timeout=$lock_s" -o Acquire::Retries=3)
log=$(mktemp)
trap 'rm -f "$log"' EXIT
locked() { grep -qE 'Could not get lock|Unable to (acquire|lock)' "$log"; }
fail() {
  cat "$log"
  if locked; then
    echo "Another program has used apt for $lock_s s. Wait until it ends, and run the command again."
  else
    echo "$1 Needed are: ${packages[*]}."
  fi
  exit 1
}

packages=("$@")
# The timeout does not apply to the lock of the package lists.
until apt-get "${options[@]}" update -qq >"$log" 2>&1; do
  locked || fail 'The package lists could not be downloaded: check the network, the proxy, and the sources of apt.'
  ((SECONDS < lock_s)) || fail
  sleep 1
done
apt-get "${options[@]}" install -y --no-install-recommends -qq "${packages[@]}" >"$log" 2>&1 ||
  fail 'The packages could not be installed: see above.'
echo "installed ${packages[*]}"
