# The failed tests in the output of a GoogleTest program, each with what it printed (at most `most` lines), and the
# last lines of one that never ended.

function keep(line) { if (length(line) > 0) kept[++lines] = line }
function show(    i, from) {
  # What a failed test says stands at the front, what a crash says at the end, what a sanitizer says from its line on.
  from = ended ? 1 : lines - most + 1
  for (i = lines; i > 0; i--) if (kept[i] ~ /ERROR: .*Sanitizer/) from = i
  if (from < 1) from = 1
  for (i = from; i <= lines && i < from + most; i++) print kept[i]
}

/\[ RUN      \] / { lines = 0; running = 1; ended = 0 }
running { keep($0) }
/\[       OK \] |\[  SKIPPED \] / { lines = running = 0 }
/\[  FAILED  \] / && running { ended = 1; show(); lines = running = 0 }
!running && /Sanitizer|runtime error:/ { running = 1; lines = 0; keep($0) }
END { if (running) { ended = 0; show() } }
