# Completes `cargo runner` inside a checkout, branches and workloads by name; all else is left to cargo's own
# completions, if there are any.
function __cargo_runner
    set -l folder $PWD
    while test -n "$folder"; and not test -f $folder/branches.toml -a -d $folder/workloads
        set folder (string replace -r '/[^/]*$' '' -- $folder)
    end
    set -l target $folder/target
    set -q CARGO_TARGET_DIR; and set target $CARGO_TARGET_DIR
    set -l before (commandline --current-process --tokenize --cut-at-cursor)
    COMPLETE=fish $target/debug/runner -- $before[2..-1] (commandline --current-token) 2>/dev/null
end
complete --command cargo --condition '__fish_seen_subcommand_from runner' --no-files --keep-order --arguments '(__cargo_runner)'
