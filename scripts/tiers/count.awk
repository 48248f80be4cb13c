# Makes records (`passed N`, `failed N WHAT`, `skipped N WHY`) from what libtest printed.
#
#   awk -v status=STATUS -f count.awk vectors/known-failing.txt OUTPUT
#
# STATUS is that of `cargo test`.

# Vectors that are known to fail pass by failing; here they count as skipped. A line is
# `name: reason`, `engine::name: reason` or `engine::*: reason`.
FILENAME ~ /known-failing/ {
    if ($0 !~ /^(#|$)/) { sub(/:$/, "", $1); known[$1] }
    next
}

/^test result: / { passed += $4; failed += $6 }
# Tests that were stopped before they had finished.
/^test .* has been running for over / { running[$2] }
/^test .* \.\.\. (ok|FAILED)$/ { delete running[$2] }
/^test .* \.\.\. FAILED$/ { failures[++n] = $2 }
# Why it failed: the lines of its panic, of which a reader of the sum needs the beginning.
/^---- .* stdout ----$/ { heading = $2; inside = 0 }
/^(stack backtrace|failures|note): ?/ { inside = 0 }
inside && length(because[heading]) < 400 { because[heading] = because[heading] " " $0 }
/^thread .* panicked at / { inside = heading != "" }
/^test .*::.* \.\.\. ok$/ {
    name = engine = $2
    sub(/^[a-z]*::/, "", name)
    sub(/::.*/, "::*", engine)
    if (name in known || engine in known || $2 in known) { skipped++; reasons["a known failure (vectors/known-failing.txt)"]++ }
}

# The output of each test stands under a heading of this form; a test counts once.
/^---- .* stdout ----$/ { test = $2 }
/^(skipped|SKIPPED): / && test != "" { reasons[substr($0, 10)]++; skipped++; test = "" }

# The runner of the vectors says once, before it starts, why it leaves out an engine or itself.
/^[a-z0-9]+: [0-9]+ vectors skipped: / || /^[a-z0-9]+: skipped: / {
    group = substr($1, 1, length($1) - 1)
    why[group] = group substr($0, index($0, ":"))
}
# Or why it leaves out some of the vectors of an engine, which are reported as ignored then.
/^[a-z0-9]+: [0-9]+ of the vectors skipped: / {
    group = substr($1, 1, length($1) - 1)
    partly[group]
    reason = $0
    sub(/.* of the vectors skipped: /, "", reason)
    ignored[group ": " reason] += $2
    next
}
# Another tier runs it, and counts it.
/^test .* \.\.\. ignored, .*: of the tier [a-z]+$/ { next }
/^test .* \.\.\. ignored/ {
    split($2, path, "::")
    if (path[1] in partly && !(path[1] in why)) next
    reason = "marked as ignored in its source"
    if (path[1] in why) reason = why[path[1]]
    if (match($0, /ignored, /)) reason = substr($0, RSTART + RLENGTH)
    ignored[reason]++
}

END {
    if (passed > skipped) print "passed", passed - skipped
    for (reason in reasons) print "skipped", reasons[reason], reason
    for (reason in ignored) print "skipped", ignored[reason], reason
    for (i = 1; i <= n; i++) print "failed 1", failures[i] (failures[i] in because ? ":" because[failures[i]] : "")
    if (failed > n) print "failed", failed - n, "see the log"
    if (status != 0 && failed == 0) {
        for (name in running) unfinished = unfinished "; not finished: " name
        print "failed 1 the tests ended with status " status unfinished
    }
}
