"""Clouds: made (`scenes`), read from files (`files`), thinned and centred (`transforms`)."""
