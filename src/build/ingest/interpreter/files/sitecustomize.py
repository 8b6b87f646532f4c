"""Runs at every start of this bundle's Python, however it was started. It makes a bare `python/bin/python3` behave like the
bundle's launchers: no user site, no bytecode written into the tree, the system's certificates found, and libraries newer
than the host's loaded by their full path, folders named in POINTCEPT_OVERLAY added. It never raises."""

import sys


def _root():
    import os

    here = os.path.dirname(os.path.abspath(__file__))
    return os.path.dirname(os.path.dirname(os.path.dirname(here)))


def _leave_out_user_site():
    site = sys.modules.get("site")
    if site is None or not site.ENABLE_USER_SITE:
        return
    site.ENABLE_USER_SITE = False
    try:
        first = sys.path.index(site.getusersitepackages())
    except ValueError:
        return
    own = [place for place in site.getsitepackages() if place in sys.path[first:]]
    last = sys.path.index(own[0], first) if own else len(sys.path)
    # What the user site's .pth files added stands between it and our own site-packages.
    del sys.path[first:last]


def _find_certificates(root):
    import os

    if os.environ.get("SSL_CERT_FILE") or os.environ.get("SSL_CERT_DIR"):
        return
    compiled_in = "@OPENSSL_DIR@"
    if compiled_in:
        if os.path.exists(compiled_in + "/cert.pem"):
            return
        try:
            if any(name.endswith(".0") for name in os.listdir(compiled_in + "/certs")):
                return
        except OSError:
            pass
    for place in (
        "/etc/ssl/certs/ca-certificates.crt",
        "/etc/pki/tls/certs/ca-bundle.crt",
        "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
        "/etc/ssl/ca-bundle.pem",
        "/etc/ssl/cert.pem",
        root + "/python/lib/python@PYTHON_MINOR@/site-packages/certifi/cacert.pem",
    ):
        if os.path.isfile(place):
            os.environ["SSL_CERT_FILE"] = place
            return


def _load_libraries(root):
    import os

    folder = root + "/lib"
    try:
        names = sorted(name for name in os.listdir(folder) if ".so" in name)
    except OSError:
        return
    if names:
        from _ctypes import dlopen

        for name in names:
            try:
                dlopen(folder + "/" + name, sys.getdlopenflags())
            except OSError:
                pass


def _give_a_home():
    """Packages ask for the user's name and home when they are imported; a user id without an entry has neither."""
    import os
    import pwd
    import stat

    try:
        pwd.getpwuid(os.getuid())
        return
    except KeyError:
        pass
    if not any(os.environ.get(name) for name in ("LOGNAME", "USER", "LNAME", "USERNAME")):
        os.environ["LOGNAME"] = f"uid{os.getuid()}"
    if os.environ.get("HOME"):
        return
    for temporary in (os.environ.get("TMPDIR", ""), "/tmp", "/var/tmp"):
        place = f"{temporary}/pointcept-runtime-{os.getuid()}"
        if not temporary.startswith("/"):
            continue
        try:
            os.mkdir(place, 0o700)
        except OSError:
            pass
        try:
            found = os.lstat(place)
        except OSError:
            continue
        if stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & 0o022:
            os.environ["HOME"] = place
            return


def _add_overlays():
    import os

    import site

    # Behind the bundle's own packages, which they can add to but not replace.
    for place in os.environ.get("POINTCEPT_OVERLAY", "").split(os.pathsep):
        if place and os.path.isdir(place):
            site.addsitedir(os.path.abspath(place))


def _start():
    sys.dont_write_bytecode = True
    try:
        root = _root()
    except Exception:
        return
    for step in (
        _leave_out_user_site,
        _give_a_home,
        lambda: _find_certificates(root),
        lambda: _load_libraries(root),
        _add_overlays,
    ):
        try:
            step()
        except Exception:
            pass


_start()
del _start, _root, _leave_out_user_site, _give_a_home, _find_certificates, _load_libraries, _add_overlays
