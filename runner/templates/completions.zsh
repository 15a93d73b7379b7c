# Completes `cargo runner` inside a checkout, branches and workloads by name; all else is left to cargo's own
# completions, if there are any.
_cargo_runner() {
    local folder=$PWD program
    while [[ -n $folder && ! ( -f $folder/branches.toml && -d $folder/workloads ) ]]; do
        folder=${folder%/*}
    done
    program=${CARGO_TARGET_DIR:-$folder/target}/debug/runner
    if [[ $words[2] == runner && $CURRENT -ge 3 && -x $program ]]; then
        local -a found
        found=("${(@f)$(_CLAP_IFS=$'\n' _CLAP_COMPLETE_INDEX=$((CURRENT - 2)) COMPLETE=zsh \
            "$program" -- "${(@)words[2,-1]}" 2>/dev/null)}")
        _describe values found
    elif (( $+functions[_cargo] )); then
        _cargo "$@"
    fi
}
compdef _cargo_runner cargo
