# The example app and the scripts of a bundle, by their own unit tests. Sourced after tests/lib.sh.

# app_tests PYTHON: runs them with an interpreter; those of the app need torch and numpy in it.
app_tests() {
    local python=$1
    check "the scripts of a bundle keep their promises ($python)" "$python" -B -m unittest discover -q -s tests/python -p 'test_scripts.py'
    if "$python" -c 'import numpy, torch' 2>/dev/null; then
        check "the example app learns, labels and repeats itself ($python)" "$python" -B -m unittest discover -q -s tests/python -p 'test_app.py'
    else
        skip "the example app learns, labels and repeats itself" "numpy or torch of $python"
    fi
}
