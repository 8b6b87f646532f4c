

def _follow(root):
    # The place this interpreter stands in now takes the place of the one it was built for.
    for name, value in build_time_vars.items():
        if isinstance(value, str) and "@PREFIX@" in value:
            build_time_vars[name] = value.replace("@PREFIX@", root)


def _root():
    import os

    here = os.path.dirname(os.path.abspath(__file__))
    return os.path.dirname(os.path.dirname(here))


_follow(_root())
del _follow, _root
