#!/usr/bin/env bash
# Say that something was left out, and why: scripts/not_run.sh "WHAT: WHY". .ci/run counts what $HEADRACE_NOT_RUN lists.
set -euo pipefail
echo "SKIPPED ${1:?usage: scripts/not_run.sh \"WHAT: WHY\"}"
if [ -n "${HEADRACE_NOT_RUN:-}" ]; then echo "skipped $1" >>"$HEADRACE_NOT_RUN"; fi
