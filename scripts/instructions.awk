# Compares counts, lines "script instructions", with the file of expected ones, lines "script instructions tolerance".
# The counts come first. mode=compare prints a table and a sentence for whatever is wrong, and fails when something is;
# with all=1 every expected script must have been counted. mode=update prints the second file with the new counts.
function thousands(number,    text) {
  for (text = ""; number >= 1000; number = int(number / 1000)) text = sprintf(",%03d%s", number % 1000, text)
  return number text
}
function complain(sentence) { sentences = sentences "\n" sentence }
FNR == 1 { file++ }
file == 1 {
  if (NF != 2) next
  now[$1] = $2
  order[++counted] = $1
  next
}
/^ *(#|$)/ { if (mode == "update") print; next }
{
  expected[$1] = $2
  allowed[$1] = $3
  if (NF != 3 || $2 !~ /^[1-9][0-9]*$/ || $3 !~ /^[0-9.]+$/) complain(FILENAME ":" FNR ": a line has a script, its instructions and a tolerance in %")
  if (mode == "update") printf "%-15s %9d %4s\n", $1, ($1 in now ? now[$1] : $2), $3
  if (mode == "compare" && all && !($1 in now)) complain($1 " was not counted: there is no such script any more; take its line out of tests/instructions/expected.txt.")
}
END {
  if (mode == "update") {
    for (i = 1; i <= counted; i++) if (!(order[i] in expected)) printf "%-15s %9d %4s\n", order[i], now[order[i]], 3
    exit
  }
  if (counted == 0) complain("Nothing was counted.")
  printf "%-15s %12s %12s %9s\n", "script", "expected", "now", "change"
  for (i = 1; i <= counted; i++) {
    script = order[i]
    if (!(script in expected)) {
      printf "%-15s %12s %12s\n", script, "", thousands(now[script])
      complain(script " has no expected count. Write one: scripts/instructions --update " script)
      continue
    }
    change = (now[script] / expected[script] - 1) * 100
    printf "%-15s %12s %12s %+7.1f %%\n", script, thousands(expected[script]), thousands(now[script]), change
    if (change > allowed[script])
      complain(sprintf("%s takes %.1f %% more instructions for a message than before, and %s %% are allowed. What takes them: " \
        "scripts/instructions --profile %s. If they are well spent, how to accept: scripts/instructions --update %s, and " \
        "say in the commit what for.", script, change, allowed[script], script, script))
    if (-change > allowed[script])
      complain(sprintf("%s takes %.1f %% fewer instructions for a message than before. Keep what was won: " \
        "scripts/instructions --update %s", script, -change, script))
  }
  if (sentences != "") print sentences
  exit sentences != ""
}
