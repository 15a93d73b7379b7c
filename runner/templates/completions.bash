# Completes `cargo runner` inside a checkout, branches and workloads by name; all else is left to cargo's own
# completions, if there are any.
_cargo_runner() {
    local folder=$PWD program
    while [[ -n $folder && ! ( -f $folder/branches.toml && -d $folder/workloads ) ]]; do
        folder=${folder%/*}
    done
    program=${CARGO_TARGET_DIR:-$folder/target}/debug/runner
    if [[ ${COMP_WORDS[1]} == runner && $COMP_CWORD -ge 2 && -x $program ]]; then
        local IFS=$'\n'
        COMPREPLY=($(_CLAP_IFS=$'\n' _CLAP_COMPLETE_INDEX=$((COMP_CWORD - 1)) COMPLETE=bash \
            _CLAP_COMPLETE_COMP_TYPE=9 _CLAP_COMPLETE_SPACE=false \
            "$program" -- "${COMP_WORDS[@]:1}" 2>/dev/null))
    elif declare -F _cargo >/dev/null; then
        _cargo "$@"
    fi
}
complete -o bashdefault -o default -F _cargo_runner cargo
