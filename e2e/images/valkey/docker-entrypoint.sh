#!/bin/sh
# As the official image: options or a file of settings are for the server, and it talks to other
# machines without a password, too.
case "${1:-}" in
  -* | *.conf) set -- valkey-server "$@" ;;
esac
case "$1" in
  valkey-server | redis-server) set -- "$@" --protected-mode no ;;
esac
exec "$@"
