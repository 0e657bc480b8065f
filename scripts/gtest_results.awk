# Turns what a GoogleTest program left behind into lines "PART <tab> PROGRAM <tab> Suite.Test <tab> passed|failed|skipped".
#
#     awk -v part=unit -v program=core -f scripts/gtest_results.awk core.xml      its XML report, or
#     awk -v part=unit -v program=core -f scripts/gtest_results.awk core.out      its output, when it died before the report
#
# In an output a test that began and did not end is a failed one.

function emit(name, outcome) { printf "%s\t%s\t%s\t%s\n", part, program, name, outcome }
function attribute(line, key,    from) {
  from = index(line, " " key "=\"")
  if (!from) return ""
  line = substr(line, from + length(key) + 3)
  line = substr(line, 1, index(line, "\"") - 1)
  gsub(/&lt;/, "<", line); gsub(/&gt;/, ">", line); gsub(/&quot;/, "\"", line); gsub(/&apos;/, "'", line)
  gsub(/&amp;/, "\\&", line)
  return line
}
function finish_case() {
  if (current != "") emit(current, outcome)
  current = ""
}
function named_after(line, mark) {
  line = substr(line, index(line, mark) + length(mark))
  sub(/ \([0-9]+ ms\)$/, "", line)
  sub(/, where (TypeParam|GetParam\(\)) = .*$/, "", line)
  return line
}

NR == 1 && /^<\?xml/ { xml = 1 }

xml && /^ *<testcase / {
  finish_case()
  current = attribute($0, "classname") "." attribute($0, "name")
  outcome = attribute($0, "result") == "skipped" ? "skipped" : attribute($0, "status") == "run" ? "passed" : "left out"
  if (outcome == "left out") current = ""
}
xml && /^ *<failure / { outcome = "failed" }
xml && /^ *<skipped/ { outcome = "skipped" }

!xml && /\[ RUN      \] / { finish_case(); current = named_after($0, "[ RUN      ] "); outcome = "failed"; next }
!xml && /\[       OK \] / && current != "" { outcome = "passed"; finish_case() }
!xml && /\[  SKIPPED \] / && current != "" { outcome = "skipped"; finish_case() }
!xml && /\[  FAILED  \] / && current != "" { outcome = "failed"; finish_case() }

END { finish_case() }
