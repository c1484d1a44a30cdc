# shellcheck shell=bash
# PostgreSQL, nodes of `hearth serve` and a balancer on this machine, for scripts/cluster and scripts/patroni. To be sourced.
# Everything has free ports of 127.0.0.1 and one temporary folder. What was started is stopped when the script ends, also on Ctrl-C.
folder=
postgres_folder=
# Begins a command of the user that PostgreSQL runs as.
postgres_user=()
# The address of the nodes' database.
url=
ports=()
pids=()
data_folders=()

say() { echo "$(basename "$0"): $*"; }
fail() {
  say "$*" >&2
  exit 1
}

# --- The folder, and the end

begin_cluster() {
  folder=$(mktemp -d "${TMPDIR:-/tmp}/hearth-cluster.XXXXXX")
  trap 'stop_all $?' EXIT
  trap 'exit 130' INT TERM
  # PostgreSQL refuses to run as root: then it runs as the user postgres, who must reach a folder of its own in here.
  chmod 711 "$folder"
  postgres_folder=$folder/postgres
  mkdir "$postgres_folder"
  (umask 077 && mkdir "$folder/private")
  password=$(head -c 16 /dev/urandom | od -An -tx1 | tr -d ' \n')
  # The user's own settings would count more than the addresses and passwords of this script.
  unset "${!PG@}"
  export PGPASSFILE=$folder/private/pgpass
  (umask 077 && echo "*:*:*:*:$password" | tee "$PGPASSFILE" >"$postgres_folder/pgpass")
  postgres_user=(env -C "$postgres_folder" HOME="$postgres_folder" PGPASSFILE="$postgres_folder/pgpass")
  if [ "$(id -u)" -eq 0 ]; then
    id postgres >/dev/null 2>&1 || fail "PostgreSQL does not run as root, and there is no user postgres"
    chown -R postgres: "$postgres_folder"
    postgres_user+=(setpriv --reuid=postgres --regid=postgres --init-groups --)
  fi
}

# $1: the status of the script. After a failure the logs stay.
stop_all() {
  trap '' INT TERM
  trap - EXIT
  local pid
  for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done
  for pid in "${pids[@]}"; do await_end "$pid"; done
  stop_databases
  rm -rf "$postgres_folder"/db? "$postgres_folder"/{password,pgpass*} "$folder/etcd" "$folder/private"
  if [ "$1" -eq 0 ] || [ "$1" -eq 130 ]; then
    rm -rf "$folder"
  else
    say "the logs are in $folder" >&2
  fi
  exit "$1"
}

stop_databases() {
  local data
  for data in "${data_folders[@]}"; do
    [ ! -e "$data/postmaster.pid" ] || as_postgres "$postgres/pg_ctl" -D "$data" -m immediate stop >/dev/null 2>&1 || true
  done
}

# Waits up to 10 s for the end of a process, and kills it then.
await_end() {
  local count
  for ((count = 0; count < 100; count++)); do
    kill -0 "$1" 2>/dev/null || return 0
    sleep 0.1
  done
  kill -KILL "$1" 2>/dev/null || true
}

# --- Programs

find_hearth() {
  hearth=${HEARTH_BIN:-}
  if [ -z "$hearth" ]; then
    scripts/bootstrap
    local options=(-c release --traits "ServiceAccounts,PostgreSQL" --product hearth)
    swift build -j "${HEARTH_JOBS:-2}" "${options[@]}" || fail "no build: it needs libpq (on Debian: apt-get install libpq-dev pkg-config)"
    hearth=$(swift build "${options[@]}" --show-bin-path)/hearth
  fi
  "$hearth" help storage 2>/dev/null | grep -q create ||
    fail "$hearth has no command storage: build it with --traits ServiceAccounts,PostgreSQL"
}

# The folder with initdb and postgres; Debian keeps it off the path.
find_postgres() {
  local program
  program=$(command -v initdb || compgen -G '/usr/lib/postgresql/*/bin/initdb' | sort -V | tail -n 1 || true)
  [ -n "$program" ] || fail "PostgreSQL is not installed (on Debian: apt-get install postgresql)"
  postgres=$(dirname "$(readlink -f "$program")")
}

find_balancer() {
  balancer=$(command -v haproxy || compgen -G '/usr/sbin/haproxy' || true)
  [ -n "$balancer" ] || say "haproxy is not installed (on Debian: apt-get install haproxy); clients use the ports of the nodes"
}

# The Python that has Google's client.
find_client() {
  python=${HEARTH_PYTHON:-python3}
  command -v "$python" >/dev/null || fail "python3 is not installed: it runs the clients of the demo"
  "$python" -c 'import google.cloud.firestore_v1, grpc' 2>/dev/null ||
    fail "$python has no google-cloud-firestore (pip install google-cloud-firestore; HEARTH_PYTHON names another Python)"
}

# --- Processes and ports

# Sets the variable $1 to a port that nobody listens on.
free_port() {
  local candidate
  while :; do
    candidate=$((12000 + RANDOM % 20000))
    [[ " ${ports[*]} " != *" $candidate "* ]] || continue
    (exec 3<>"/dev/tcp/127.0.0.1/$candidate") 2>/dev/null || break
  done
  ports+=("$candidate")
  printf -v "$1" %s "$candidate"
}

# start NAME COMMAND…: runs a program in the background, which writes NAME.out and NAME.log. Its process is $started.
start() {
  local name=$1
  shift
  "$@" >"$folder/$name.out" 2>>"$folder/$name.log" &
  started=$!
  pids+=("$started")
}

# Kills a process that `start` has started.
kill_at_once() {
  kill -KILL "$1"
  # The shell reports the end of a job that it has not been asked about.
  wait "$1" 2>/dev/null || true
}

# Sleeps so that a signal ends the script at once, not after the sleep.
rest() {
  sleep "$1" &
  wait $!
}

# await SECONDS "WHAT" COMMAND…: waits until the command succeeds.
await() {
  local end=$((SECONDS + $1)) what=$2
  shift 2
  until "$@" >/dev/null 2>&1; do
    [ "$SECONDS" -lt "$end" ] || fail "$what did not come within its time"
    sleep 0.1
  done
}

# --- PostgreSQL

as_postgres() { "${postgres_user[@]}" "$@"; }

# sql PORT STATEMENT [DATABASE]: as the superuser; prints the rows.
sql() { psql -h 127.0.0.1 -p "$1" -U postgres -d "${3:-postgres}" -v ON_ERROR_STOP=1 -qAt <<<"$2"; }

# Makes and starts a primary on port $1 in $postgres_folder/db1.
start_primary() {
  local data=$postgres_folder/db1
  data_folders+=("$data")
  as_postgres sh -c 'umask 077; cut -d : -f 5 pgpass > password'
  as_postgres "$postgres/initdb" -D "$data" -U postgres --auth=scram-sha-256 --pwfile=password -N >"$folder/initdb.log" 2>&1 ||
    fail "initdb failed: $(tail -n 3 "$folder/initdb.log")"
  as_postgres tee -a "$data/postgresql.conf" >/dev/null <<CONFIGURATION
listen_addresses = '127.0.0.1'
unix_socket_directories = ''
max_connections = 200
wal_compression = on
CONFIGURATION
  # Replication by the superuser, for a demo only.
  as_postgres tee -a "$data/pg_hba.conf" >/dev/null <<<'host replication all 127.0.0.1/32 scram-sha-256'
  start_database "$data" "$1"
}

start_database() {
  as_postgres "$postgres/pg_ctl" -D "$1" -o "-p $2" -l "$1.log" -w start >/dev/null ||
    fail "PostgreSQL does not start: $(tail -n 3 "$1.log")"
}

# start_standby PRIMARY_PORT PORT: a streaming replica in $postgres_folder/db2.
start_standby() {
  local data=$postgres_folder/db2
  data_folders+=("$data")
  as_postgres "$postgres/pg_basebackup" -D "$data" -R -X stream -c fast -N \
    -d "host=127.0.0.1 port=$1 user=postgres application_name=standby" || fail "pg_basebackup failed"
  start_database "$data" "$2"
  await 20 "the standby" standby_streams "$1"
}

standby_streams() { [ "$(sql "$1" "SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming'")" = 1 ]; }

# From here on a commit waits until the standby of the primary on port $1 has it on its disk.
make_synchronous() {
  sql "$1" "ALTER SYSTEM SET synchronous_standby_names = '*'"
  sql "$1" 'SELECT pg_reload_conf()' >/dev/null
  await 20 "synchronous replication" is_synchronous "$1"
}

is_synchronous() { [ "$(sql "$1" "SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'")" = 1 ]; }

# The role and the database of the nodes. The password is that of the superuser, for a demo only.
create_database() {
  sql "$1" "CREATE ROLE hearth LOGIN PASSWORD '$password'"
  sql "$1" 'CREATE DATABASE firestore OWNER hearth'
}

# --- Nodes and balancer

# start_node NAME PORT OPTION…: a node over the database of $url.
start_node() {
  local name=$1 port=$2
  shift 2
  start "$name" "$hearth" serve --storage "$url" --node-name "$name" --port "$port" "$@"
  await_node "$name"
}

await_node() {
  await 30 "node $1 (see $folder/$1.log)" node_decided "$1" "$started"
  grep -q 'serving on' "$folder/$1.out" || fail "node $1 has not started: $(tail -n 3 "$folder/$1.log")"
}

node_decided() { grep -q 'serving on' "$folder/$1.out" || ! kill -0 "$2"; }

# start_balancer PORT NODE_PORT…: haproxy over the nodes.
start_balancer() {
  local port=$1 node
  shift
  {
    balancer_configuration "$port"
    for node in "$@"; do echo "  server node-$node 127.0.0.1:$node"; done
  } >"$folder/haproxy.cfg"
  start haproxy "$balancer" -db -f "$folder/haproxy.cfg"
  await 10 "haproxy (see $folder/haproxy.log)" answers "$port"
}

answers() { (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }

# It passes connections on as they are. With "mode http" the listeners of a node that is killed would end with CANCELLED, after which
# Google's Python and Go clients do not listen again.
# The lines of tcp-check are a call of grpc.health.v1.Health/Check in frames of HTTP/2 (preface and settings, headers, an empty message), and
# the message SERVING of the answer.
balancer_configuration() {
  cat <<CONFIGURATION
defaults
  mode tcp
  timeout connect 2s
  timeout client 1h
  timeout server 1h
  timeout check 1s
  option redispatch
  retries 2

frontend firestore
  bind 127.0.0.1:$1
  default_backend nodes

backend nodes
  balance leastconn
  option tcp-check
  tcp-check connect
  tcp-check send-binary 505249202a20485454502f322e300d0a0d0a534d0d0a0d0a000000040000000000
  tcp-check send-binary 00003f0104000000018386441c2f677270632e6865616c74682e76312e4865616c74682f436865636b5f106170706c69636174696f6e2f677270630002746508747261696c657273
  tcp-check send-binary 0000050001000000010000000000
  tcp-check expect binary 00000000020801
  default-server check inter 1s fall 3 rise 1 on-marked-down shutdown-sessions
CONFIGURATION
}

# --- Clients, and what happens to them

# start_clients OPTION… HOST:PORT…: scripts/cluster-clients, whose listeners have their first snapshot when this returns.
start_clients() {
  scripts/cluster-clients "$folder" "$@" &
  clients=$!
  pids+=("$clients")
  await 70 "the first snapshots" clients_decided
  pause 8
}

clients_decided() { [ -e "$folder/ready" ] || ! kill -0 "$clients"; }

# Says to the clients that a thing happens now.
event() { echo "$EPOCHREALTIME $*" >>"$folder/events"; }

# Waits so many seconds, and ends the script if the clients end.
pause() {
  rest "$1"
  kill -0 "$clients" 2>/dev/null || fail "the clients have ended"
}

# Lets the clients come to their end, check what they got, and print a table.
end_clients() {
  touch "$folder/stop"
  wait "$clients"
}
