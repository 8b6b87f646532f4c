# Promises P27-P29 on a real bundle. Sourced after tests/lib.sh; `relocate BUNDLE MODULE…` unpacks it with stock
# tools under a hostile path, moves it twice, makes it read-only, and uses it as a user without a name, home or
# environment. As root, because it changes users and mounts a trust store of its own.

# The uid everything runs as: nobody's.
relocate_uid=61234

# as_stranger command…: no environment, no home, an unknown uid.
as_stranger() {
    (cd / && setpriv --reuid "$relocate_uid" --regid "$relocate_uid" --clear-groups env -i "$@")
}

# What could change in a tree: names, types, modes, owners, sizes, times of content and of attributes.
tree_state() {
    (cd "$1" && find . -printf '%p %y %m %U %s %T@ %C@\n' | LC_ALL=C sort | sha256sum)
}

relocate() {
    local bundle=$1 modules work first place before
    shift
    modules="$*"
    work=$(mktemp -d "${REAL_TMP:-/var/tmp}/bundler-relocate.XXXXXX")
    chmod 755 "$work"
    first="$work/first place"
    place="$work/a b/it's \"ü\""
    mkdir -p "$first" "$work/second" "$work/a b" "$place"
    if ! tar --zstd -xf "$bundle" -C "$first"; then
        check "stock tar and zstd read $(basename "$bundle")" false
        return
    fi
    check "stock tar and zstd read $(basename "$bundle")" test -f "$first/runtime/.complete"
    mv "$first/runtime" "$work/second/"
    mv "$work/second/runtime" "$place/"
    place="$place/runtime"
    chmod -R a-w "$place"
    before=$(tree_state "$place")

    local imports="import importlib,sys
for name in sys.argv[1:]: importlib.import_module(name)
print('imported', len(sys.argv) - 1)"
    local starts=("$place/bin/python" "$place/python/bin/python3")
    local start
    for start in "${starts[@]}"; do
        # shellcheck disable=SC2086
        check "imports every module by ${start#"$place/"}" as_stranger "$start" -c "$imports" $modules
    done
    # shellcheck disable=SC2016,SC2086
    check "imports every module after sourcing env.sh in sh" as_stranger /bin/sh -euc \
        '. "$1/env.sh"; shift; code=$1; shift; exec python3 -c "$code" "$@"' sh "$place" "$imports" $modules
    # shellcheck disable=SC2016,SC2086
    check "imports every module by python3 itself after env.sh in bash" as_stranger /bin/bash -euc \
        '. "$1/env.sh"; root=$1; shift; code=$1; shift; exec "$root/python/bin/python3" -c "$code" "$@"' bash "$place" "$imports" $modules

    check "a console script runs" as_stranger "$place/python/bin/$(relocate_script "$place")" --help
    check "ssl reaches a TLS server by the default CA path (bin/python)" tls_probe "$place/bin/python"
    check "ssl reaches a TLS server by the default CA path (python3 itself)" tls_probe "$place/python/bin/python3"
    if [ -e "$place/scripts/infer.py" ]; then
        check "doctor answers with JSON" relocate_doctor "$place"
    fi
    case " $modules " in *" numpy "*)
        check "the second example app labels, and repeats itself after a turn" \
            "$place/bin/python" -B -m unittest discover -q -s tests/python -p 'test_shapes.py'
        ;;
    esac
    case " $modules " in *" torch "*)
        check "torch computes on the CPU" as_stranger "$place/bin/python" -c \
            'import torch; x = torch.eye(64) * 2; assert float((x @ x).trace()) == 256.0; print(torch.__version__)'
        check "the app labels a cloud on the CPU" relocate_app "$place" "$work"
        check "the example app learns, labels and repeats itself" \
            "$place/bin/python" -B -m unittest discover -q -s tests/python -p 'test_app.py'
        ;;
    esac
    check "no file of the tree changed" test "$before" = "$(tree_state "$place")"

    mv "$place" "$work/moved" 2>/dev/null || { chmod u+w "$place" && mv "$place" "$work/moved"; }
    check "it runs after one more move" as_stranger "$work/moved/bin/python" -c 'import sys; assert sys.prefix.endswith("/moved/python"), sys.prefix'
    chmod -R u+w "$work/moved"
    rm -f "$work/moved/.complete"
    local launcher
    for launcher in bin/python bin/infer bin/train bin/doctor; do
        check "$launcher refuses a tree without .complete" refuses "$work/moved/$launcher" --help
    done
    # shellcheck disable=SC2016
    check "env.sh refuses a tree without .complete" refuses sh -c '. "$1/env.sh"' sh "$work/moved"
    rm -rf "$work"
}

# The first console script that knows --help in every version.
relocate_script() {
    local name
    for name in f2py torchrun convert-caffe2-to-onnx; do
        if [ -x "$1/python/bin/$name" ]; then
            echo "$name"
            return
        fi
    done
    echo no-console-script
}

# The command fails and says why.
refuses() {
    local text
    if text=$("$@" 2>&1); then
        echo "it started: $text"
        return 1
    fi
    echo "$text"
    printf '%s' "$text" | grep -qi 'complete'
}

relocate_doctor() {
    as_stranger "$1/bin/doctor" | python3 -c 'import json,sys; answer = json.load(sys.stdin); assert answer["schema_version"] == 1; print(answer["python"])'
}

# Trains the example app for a moment and labels a cloud, both as the stranger, in a folder of its own.
relocate_app() {
    local out="$2/app"
    mkdir -p "$out"
    chown "$relocate_uid" "$out"
    as_stranger TMPDIR="$out" "$1/bin/infer" --device cpu --demo -o "$out/labels.npy" &&
        as_stranger "$1/bin/python" -c 'import numpy,sys; labels = numpy.load(sys.argv[1]); assert labels.ndim == 1 and labels.size > 100; print(labels.size, "labels")' "$out/labels.npy"
}

# A TLS server whose certificate only the host's own trust store vouches for: the store is extended in a mount
# namespace of its own, so the machine's stays as it is.
tls_probe() {
    local dir code
    dir=$(mktemp -d)
    chmod 755 "$dir"
    (
        cd "$dir" &&
            openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=test-ca -keyout ca.key -out ca.pem \
                -addext basicConstraints=critical,CA:TRUE -addext keyUsage=critical,keyCertSign &&
            openssl req -newkey rsa:2048 -nodes -subj /CN=localhost -keyout server.key -out server.csr &&
            printf 'subjectAltName=DNS:localhost\n' >ext &&
            openssl x509 -req -in server.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -extfile ext -out server.pem
    ) 2>/dev/null
    cat /etc/ssl/certs/ca-certificates.crt "$dir/ca.pem" >"$dir/store.crt"
    code=0
    timeout 60 unshare -m bash -c '
        mount --bind "$1/store.crt" /etc/ssl/certs/ca-certificates.crt
        python3 tests/real/tls_server.py "$1" >"$1/port" & server=$!
        for _ in $(seq 100); do [ -s "$1/port" ] && break; sleep 0.1; done
        cd / && setpriv --reuid "$3" --regid "$3" --clear-groups env -i "$2" -c "
import ssl, socket, sys
context = ssl.create_default_context()
with socket.create_connection((\"localhost\", int(sys.argv[1])), 10) as raw:
    with context.wrap_socket(raw, server_hostname=\"localhost\") as tls:
        assert tls.recv(5) == b\"hello\", tls.version()
print(tls.version())" "$(cat "$1/port")"
        status=$?; kill $server 2>/dev/null; exit $status' bash "$dir" "$1" "$relocate_uid" || code=$?
    rm -rf "$dir"
    return "$code"
}
