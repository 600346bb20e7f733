#!/bin/sh
exec "${PYTHON:-python3}" "$(dirname "$0")/report_test.py"
