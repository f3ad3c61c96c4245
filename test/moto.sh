#!/bin/sh
# Runs the engine contracts and the store tests against moto, an independent implementation of DynamoDB and S3.
# Arguments narrow the test files. Exit code: vitest's, or 3 when moto cannot be installed.
set -u
cd "$(dirname "$0")/.." || exit 3

version=5.2.5
venv=.venv-moto
PATH="$PWD/node_modules/.bin:$PATH"
[ $# -gt 0 ] || set -- test/engines test/store

if [ ! -e "$venv/moto-$version" ]; then
  if ! { python3 -m venv --clear "$venv" && "$venv/bin/pip" install --quiet "moto[server]==$version"; } >"$venv.log" 2>&1; then
    echo "test:moto: python3 with pip could not install moto[server] $version (see $venv.log)" >&2
    exit 3
  fi
  touch "$venv/moto-$version"
fi

port=$("$venv/bin/python" -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
"$venv/bin/moto_server" -H 127.0.0.1 -p "$port" >"$venv.log" 2>&1 &
server=$!
trap 'kill "$server" 2>/dev/null' EXIT
trap 'exit 130' INT TERM

"$venv/bin/python" - "$port" <<'PYTHON' || { echo "test:moto: moto_server did not start (see $venv.log)" >&2; exit 3; }
import socket, sys, time
for _ in range(300):
    try:
        socket.create_connection(("127.0.0.1", int(sys.argv[1]))).close()
        sys.exit(0)
    except OSError:
        time.sleep(0.1)
sys.exit(1)
PYTHON

export SANDKEEP_ENGINE=moto
export SANDKEEP_DYNAMODB_ENDPOINT="http://127.0.0.1:$port" SANDKEEP_S3_ENDPOINT="http://127.0.0.1:$port"
export AWS_REGION=us-east-1 AWS_DEFAULT_REGION=us-east-1 AWS_ACCESS_KEY_ID=local AWS_SECRET_ACCESS_KEY=local
# One file at a time: the one server would be the bottleneck of two.
vitest run --maxWorkers=1 "$@"
