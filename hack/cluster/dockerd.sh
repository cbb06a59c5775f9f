#!/usr/bin/env bash
# dockerd.sh start|stop FOLDER: a separate Docker daemon with data and socket in FOLDER.
. "$(dirname "${BASH_SOURCE[0]}")/env.sh"
action=$1 folder=$2
socket=$folder/docker.sock
answers() { curl -sf -m 5 --unix-socket "$socket" http://docker/_ping >/dev/null; }

# kind starts privileged containers. Docker then requests CAP_SYS_RESOURCE even if the process lacks it, and fails.
# The container must be started without it.
lacks_sys_resource() {
  local bounding
  bounding=$(sed -n 's/^CapBnd:[[:space:]]*//p' /proc/self/status)
  (((0x$bounding >> 24 & 1) == 0))
}

start() {
  answers && return
  mkdir -p "$folder"
  rm -f "$folder/dockerd.pid" "$socket"
  local options=(--data-root "$folder/data" --exec-root "$folder/exec" --pidfile "$folder/dockerd.pid" -H "unix://$socket")
  if lacks_sys_resource; then
    install -m755 "$HERE/runc-nosysres" "$folder/"
    options+=(--add-runtime "nosysres=$folder/runc-nosysres" --default-runtime nosysres)
  fi
  # The system's own containerd, shim and runc, whatever the caller's PATH has first.
  PATH=/usr/sbin:/usr/bin:/sbin:/bin setsid nohup dockerd "${options[@]}" >"$folder/dockerd.log" 2>&1 </dev/null &
  for _ in $(seq 120); do
    answers && return
    sleep 0.5
  done
  tail -n 20 "$folder/dockerd.log"
  return 1
}

stop() {
  local pid
  pid=$(cat "$folder/dockerd.pid" 2>/dev/null) || return 0
  [[ $(cat "/proc/$pid/comm" 2>/dev/null) == dockerd ]] || return 0
  kill "$pid"
  for _ in $(seq 120); do
    [[ -d /proc/$pid ]] || return 0
    sleep 0.5
  done
  echo "dockerd (pid $pid) does not end"
  return 1
}

"$action"
