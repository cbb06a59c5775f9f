#!/bin/sh
# Makes the cluster in PGDATA at the first start, then runs the server. Of the official image it
# knows POSTGRES_USER, POSTGRES_PASSWORD and POSTGRES_DB (each with _FILE), and PGDATA.
set -eu

fail() {
  echo "$*" >&2
  exit 1
}

# from_file NAME: takes the value from the file that NAME_FILE names.
from_file() {
  eval "value=\${$1:-} file=\${$1_FILE:-}"
  if [ -n "$file" ]; then
    [ -z "$value" ] || fail "$1 and $1_FILE are both set"
    value=$(cat "$file")
  fi
  eval "$1=\$value"
}

# A user that /etc/passwd does not have: initdb insists on a name.
name_the_user() {
  if id -un >/dev/null 2>&1; then return; fi
  echo "postgres:x:$(id -u):$(id -g):PostgreSQL:/tmp:/bin/sh" >/tmp/passwd
  echo "postgres:x:$(id -g):" >/tmp/group
  export NSS_WRAPPER_PASSWD=/tmp/passwd NSS_WRAPPER_GROUP=/tmp/group LD_PRELOAD=libnss_wrapper.so
}

make_cluster() {
  from_file POSTGRES_PASSWORD
  from_file POSTGRES_USER
  from_file POSTGRES_DB
  [ -n "$POSTGRES_PASSWORD" ] || fail 'POSTGRES_PASSWORD is not set'
  user=${POSTGRES_USER:-postgres}
  database=${POSTGRES_DB:-$user}
  password_file=$(mktemp /tmp/password.XXXXXX)
  printf '%s\n' "$POSTGRES_PASSWORD" >"$password_file"
  initdb --username="$user" --pwfile="$password_file" --encoding=UTF8 --locale=C.UTF-8 \
    --auth-local=trust --auth-host=scram-sha-256
  rm "$password_file"
  echo 'host all all all scram-sha-256' >>"$PGDATA/pg_hba.conf"
  if [ "$database" != postgres ]; then
    quoted=$(printf %s "$database" | sed 's/"/""/g')
    echo "CREATE DATABASE \"$quoted\";" | postgres --single -D "$PGDATA" -j template1 >/dev/null
  fi
}

[ "$(id -u)" != 0 ] || fail 'This image does not run as root.'
case "${1:-postgres}" in
  -*) set -- postgres "$@" ;;
  postgres | '') ;;
  *) exec "$@" ;;
esac
name_the_user
mkdir -p "$PGDATA"
chmod 700 "$PGDATA" 2>/dev/null || true
[ -s "$PGDATA/PG_VERSION" ] || make_cluster
unset POSTGRES_PASSWORD
shift
exec postgres -c listen_addresses='*' "$@"
