# shellcheck shell=bash
# Kills at every state-changing system call of install, use, rollback, remove and gc on a small bundle, then a thousand at
# random with a second process. tests/it/store/kills.rs does it and says what it checks; the offline suite tries a few.

kills() {
    local start=$SECONDS
    check "a kill at every state-changing call, and 1,000 at random, leave whole names" \
        env BUNDLER_KILLS=all cargo test --release --quiet --test it store::kills:: -- --nocapture
    echo "        took $((SECONDS - start)) s"
}
