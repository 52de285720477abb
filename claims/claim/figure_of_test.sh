# figure_of_test PACKAGE TEST [FLAG ...] runs one test, with what it logs. The figure is what
# the test logs behind "figure: "; a test that fails, is skipped or is not there has none.
figure_of_test() {
    package=$1 name=$2
    shift 2
    words=$(mktemp)
    trap 'rm -f "$words"' EXIT
    go test "$package" -run "^$name\$" -count=1 -v "$@" 2>&1 | tee "$words"
    figure=$(sed -n 's/^ *[a-z_]*\.go:[0-9]*: figure: //p' "$words" | tail -1)
    if grep -q "^--- PASS: $name " "$words" && [ -n "$figure" ]; then
        echo "holds: $figure"
    else
        echo "does not hold: see above"
        exit 1
    fi
}
