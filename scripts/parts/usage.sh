# Sourced by the scripts of the folder above: --help prints their usage, before anything is set up.
# `usage` names the file that has the text (default: the script itself), `module` a Python module that
# knows more, for when it is installed. Leaves the folder of the scripts in `here`.
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
case " $* " in
*" --help "* | *" -h "*)
    if [ -n "${module:-}" ] && [ -x "$here/../.venv/bin/fencepost" ]; then
        exec "$here/../.venv/bin/python" -m "$module" "$@"
    fi
    sed -n '/^\(# \)\{0,1\}usage:/,/^\("""\|set -eu\)/{/^\("""\|set -eu\)/d;s/^# \{0,1\}//;p;}' \
        "$here/${usage:-${0##*/}}"
    exit 0
    ;;
esac
