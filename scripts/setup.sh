#!/usr/bin/env bash
# All set-up for one group of work: demo, test, bench, check, docs or wheel. Quick when nothing has changed.
set -euo pipefail
cd "$(dirname "$0")/.."
group=${1:?usage: scripts/setup.sh demo|test|bench|check|docs|wheel}
scripts/setup_system.sh "$group"
scripts/setup_python.sh "$group"
