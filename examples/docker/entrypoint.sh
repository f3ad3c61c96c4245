#!/bin/sh
# Runs the container's command in the latest workspace of the task that TASK names, and saves what it makes of it.
set -eu
exec sandkeep run --task "$TASK" --autosave "${AUTOSAVE:-60s}" --meta "job_id=$(hostname)" -- "$@"
