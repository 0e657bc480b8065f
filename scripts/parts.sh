# shellcheck shell=bash
# The parts of ./test. Each is a function part_NAME that works quietly into $log and records what it found: one line
# for each GoogleTest case, or one for the whole part. What is worth showing of a failure goes to $shown; when that
# stays empty, the end of the log is shown. Sourced by ./test.

# Name, what must be built for it, and what it shows. Parts marked + run only when named or with --all.
parts_table='
build             -        release code with every test compiles
unit              dev      the tests beside the sources
blackbox          dev      the real server over both dialects and HTTP, as a client sees it
kill              dev      kill -9, 100 times or as often as --rounds says: every acknowledged message is there once
forgetful         dev      power failures: a disk forgets what was not synced, and nothing acknowledged is lost
processes         dev      real servers and devices behind a bad network, both killed at any moment
sim               dev      the whole system under faults, in virtual time: 1,000 seeds in both modes
planted           dev      the simulator finds each planted fault again
instructions      dev      a message takes as many instructions as before, counted and not timed
format            -        clang-format
includes          -        who may include whom
scripts           -        the checks of these scripts find what they should
asan              -        the same code with AddressSanitizer and UBSan compiles
asan-unit         asan     the tests beside the sources, sanitized
asan-blackbox     asan     the real server, sanitized
asan-sim          asan     the simulator, sanitized
fuzz              asan     both decoders and their like, a short run each
conformance       -        every numbered scenario has a passing test
+properties-long  dev      a thousand cases of every property, from a seed that nobody has seen
+kill-long        dev      the kill loop, 1,000 rounds or as many as --rounds says
+forgetful-long   dev      power failures, 300 of each kind
+processes-long   dev      the same with worlds of all sizes, ten minutes
+sim-long         dev      ten minutes of seeds that nobody has seen
+planted-search   dev      the simulator finds each planted fault within a minute
+tsan             -        the same code with ThreadSanitizer compiles
+tsan-unit        tsan     the tests beside the sources, watched for races
+tsan-blackbox    tsan     the real server, watched for races
+fuzz-long        asan     the fuzz targets, longer
+tidy             dev      clang-tidy
+bench            release  every benchmark, into build/bench.json
'

# What must be there. A folder that is missing from this list, or a test program from the build, is a failure
# and not a shorter run.
unit_folders=(base core wire store engine hooks gateway client)
least_fuzz_targets=2  # the decoders of both dialects

# record NAME passed|failed: the result of a part, or of a piece of it, that is no GoogleTest case.
record() { printf '%s\t-\t%s\t%s\n' "$part" "$1" "$2" >>"$results"; }

# checked COMMAND...: runs it into the log; one result for the whole part.
checked() {
  if in_group timeout -k 10 "${limit_s:-600}" "$@" >>"$log" 2>&1; then record "$part" passed; else
    say "(exit code $?)" >>"$log"
    record "$part" failed
  fi
}

# gtest PROGRAM-NAME BINARY LIMIT-S [ARGUMENT...]: one result for each case; a crash or the time limit makes the case
# that ran a failed one, or the program itself when none ran.
gtest() {
  local program=$1 binary=$2 limit=$3 code=0
  local xml=build/test-logs/$part.$1.xml out=build/test-logs/$part.$1.out lines=build/test-logs/$part.$1.tsv
  shift 3
  rm -f "$xml"
  say "== $binary $*" >>"$log"
  if [ ! -x "$binary" ]; then
    say "$binary is missing: its sources are not there, or the build does not know them" | tee -a "$shown" >>"$log"
    record "$program" failed
    return
  fi
  in_group timeout -k 10 "$limit" "$binary" --gtest_output="xml:$xml" --gtest_color=no "$@" >"$out" 2>&1 || code=$?
  cat "$out" >>"$log"
  [ "$code" = 0 ] || awk -v most=30 -f scripts/gtest_failures.awk "$out" >>"$shown"
  local report=$xml
  [ -s "$xml" ] || report=$out
  awk -v part="$part" -v program="$program" -f scripts/gtest_results.awk "$report" >"$lines"
  cat "$lines" >>"$results"
  case $code in
    0) grep -q 'passed$' "$lines" || {
      say "$binary ran no test" | tee -a "$shown" >>"$log"
      record "$program" failed
    } ;;
    124 | 137) say "$binary took longer than $limit s" | tee -a "$shown" >>"$log" ;;
    *) say "$binary ended with code $code" | tee -a "$shown" >>"$log" ;;
  esac
  [ "$code" = 0 ] || grep -q 'failed$' "$lines" || record "$program" failed
}

# unit_programs PRESET LIMIT-S: the test program of every folder that has tests or should have.
unit_programs() {
  local folder
  for folder in "${unit_folders[@]}"; do
    status "$part: $folder"
    gtest "$folder" "build/$1/tidemark_${folder}_test" "$2"
  done
  for folder in src/*/; do
    folder=$(basename "$folder")
    case " ${unit_folders[*]} " in *" $folder "*) continue ;; esac
    say "src/$folder is not in the list of scripts/parts.sh: its tests would never run" | tee -a "$shown" >>"$log"
    record "$folder" failed
  done
}

build_part() {
  if TIDEMARK_QUIET=1 build "$1"; then record "$part" passed; else
    build_error "build/logs/$1.log" >>"$log"
    build_advice "build/logs/$1.log" >>"$log"
    record "$part" failed
  fi
}
part_build() { build_part dev; }
part_asan() { build_part asan; }
part_tsan() { build_part tsan; }

# Properties start from one seed wherever a change is judged: what only another seed shows is not its doing.
same_seed='seed=20260701'
part_unit() { RC_PARAMS=$same_seed unit_programs dev 120; }
part_asan_unit() { RC_PARAMS=$same_seed unit_programs asan 300; }
part_tsan_unit() { RC_PARAMS=$same_seed unit_programs tsan 600; }
part_properties_long() { RC_PARAMS='max_success=1000' unit_programs dev 1800; }

part_blackbox() { gtest blackbox build/dev/tidemark_blackbox_test 300 '--gtest_filter=-KillLoop.*'; }
part_asan_blackbox() { gtest blackbox build/asan/tidemark_blackbox_test 400 '--gtest_filter=-KillLoop.*'; }
part_tsan_blackbox() { gtest blackbox build/tsan/tidemark_blackbox_test 900 '--gtest_filter=-KillLoop.*'; }

# kill_rounds N: three seconds for each, several times what it needs.
kill_rounds() {
  TIDEMARK_KILL_ROUNDS=$1 gtest kill build/dev/tidemark_blackbox_test $(($1 < 100 ? 300 : $1 * 3)) '--gtest_filter=KillLoop.*'
}
part_kill() { kill_rounds "${rounds:-100}"; }
part_kill_long() { kill_rounds "${rounds:-1000}"; }

# Without FUSE only the disk itself is tried; what needs it to be mounted is skipped.
part_forgetful() { gtest forgetful build/dev/tidemark_forgetful_test 300; }
part_forgetful_long() { TIDEMARK_FORGETFUL_ROUNDS=300 gtest forgetful build/dev/tidemark_forgetful_test 3000 '--gtest_filter=Forgetful.*'; }

part_processes() { gtest processes build/dev/tidemark_processes_test 400 '--gtest_filter=-*_slow'; }
part_processes_long() {
  local minutes=${TIDEMARK_PROCESSES_MINUTES:-10}
  gtest processes build/dev/tidemark_processes_test $((minutes * 60 + 600)) '--gtest_filter=*_slow'
}

part_sim() {
  gtest sim build/dev/tidemark_sim_test 240
  checked build/dev/tidemark-sim --runs 1000 --all-met --save build/sim-met.txt
  checked build/dev/tidemark-sim --runs 300 --store log --all-met
}
part_asan_sim() { checked build/asan/tidemark-sim --runs 40 --quiet; }
part_sim_long() { limit_s=900 checked build/dev/tidemark-sim explore --minutes 10; }

# planted ARGUMENT...: one result for each fault, which has to be found; %s is the seed that found it first.
planted() {
  local fault seed invariant out found
  while read -r fault seed invariant; do
    case $fault in '' | '#'*) continue ;; esac
    status "$part: $fault"
    out=build/test-logs/$part.$fault.out
    in_group timeout -k 10 120 build/dev/tidemark-sim-planted "${@//%s/$seed}" --quiet --plant "$fault" >"$out" 2>&1
    cat "$out" >>"$log"
    found=$(sed -n -E 's/^seed ([0-9]+) \([a-z]+\) fails: (I[0-9]+|hooks|told):.*/\1 \2/p' "$out" | sed -n 1p)
    if [ -n "$found" ]; then
      record "$fault" passed
      # A change of the product moves events a little, so this is no failure; the list is to be written anew one day.
      if [[ "$*" = *%s* ]] && [ "$found" != "$seed $invariant" ]; then
        clear_status
        say "$fault was found by seed ${found% *} as ${found#* }, and is listed with seed $seed as $invariant;" \
          "scripts/planted_seeds writes the list anew" | tee -a "$log"
      fi
    else
      say "$fault was not found (it was, as $invariant); see $out" | tee -a "$shown" >>"$log"
      record "$fault" failed
    fi
  done <sim/planted_seeds.txt
}
# A few seeds from the recorded one on: a change of the product moves events a little, and the worlds with them.
part_planted() { planted --seed %s --runs 20; }
part_planted_search() { planted explore --minutes 1 --first; }

# The counts that are compared were taken with AVX2; without it the libraries take other ways.
part_instructions() {
  if grep -qw -m 1 avx2 /proc/cpuinfo; then checked scripts/instructions; else
    say "not compared: the counts of tests/instructions/expected.txt are of processors with AVX2" >>"$log"
    record "$part" skipped
  fi
}

# The C++ of the repository.
sources() {
  if [ -e .git ] && command -v git >/dev/null; then
    git ls-files -- '*.h' '*.cc' | while read -r file; do [ ! -e "$file" ] || echo "$file"; done
  else
    find src apps tests fuzz -name '*.h' -o -name '*.cc' | sort
  fi
}
part_format() {
  sources | tr '\n' '\0' >build/logs/sources
  checked xargs -0 -a build/logs/sources clang-format-19 --dry-run -Werror
  sed -n 's/^\([^ :]*\):[0-9]*:[0-9]*: error:.*/\1/p' "$log" | sort -u | tr '\n' ' ' | sed 's/^./clang-format-19 -i &/' >"$shown"
}
# What build/dev compiles of the product, several sources at a time as it does: the headers of others, most of the work,
# are read once for all of them. Sources count as headers then, which the analyzer has to be told.
part_tidy() {
  sed -n 's/.*"file": "\(.*\)".*/\1/p' build/dev/compile_commands.json |
    grep -vE '_test\.(dir|cc)|planted|tidemark_proto|/tests/|/scenario\.cc' | LC_ALL=C sort -u | tr '\n' '\0' >build/logs/sources
  limit_s=3600 checked xargs -0 -a build/logs/sources -n 1 -P "$(job_count)" clang-tidy-19 -p build/dev --quiet \
    --extra-arg=-Xclang --extra-arg=-analyzer-opt-analyze-headers
}
part_includes() { checked scripts/check_includes; }
part_scripts() { checked scripts/selftest; }

# fuzz_for SECONDS: each target goes on with what it found before, beside the corpus of the repository.
fuzz_for() {
  local target corpus folders bad='' targets
  mapfile -t targets < <(find fuzz -name '*_fuzz.cc' -printf '%f\n' 2>/dev/null | sed 's/\.cc$//' | LC_ALL=C sort)
  if [ ${#targets[@]} -lt $least_fuzz_targets ]; then
    say "fuzz/ has ${#targets[@]} targets; there should be at least $least_fuzz_targets" | tee -a "$shown" >>"$log"
    bad=1
  fi
  for target in ${targets[@]+"${targets[@]}"}; do
    status "$part: $target"
    corpus=build/fuzz-corpus/$target
    mkdir -p "$corpus"
    folders=("$corpus")
    [ ! -d "fuzz/corpus/${target%_fuzz}" ] || folders+=("fuzz/corpus/${target%_fuzz}")
    [ ! -d "fuzz/corpus/$target" ] || folders+=("fuzz/corpus/$target")
    in_group timeout -k 10 $(($1 + 120)) "build/asan/$target" -max_total_time="$1" -timeout=10 -rss_limit_mb=2048 \
      -print_final_stats=1 -artifact_prefix="build/test-logs/$target-" "${folders[@]}" >"build/test-logs/$part.$target.out" 2>&1 ||
      {
        bad=1
        cat "build/test-logs/$part.$target.out" >>"$log"
        { say "$target:"; grep -A 12 -m 1 'ERROR:' "$log"; grep -a 'Test unit written' "$log"; } >>"$shown"
      }
  done
  if [ -z "$bad" ]; then record "$part" passed; else record "$part" failed; fi
}
part_fuzz() { fuzz_for 10; }
part_fuzz_long() { fuzz_for 60; }

part_bench() {
  if ! TIDEMARK_QUIET=1 build release tidemark-bench; then
    build_error build/logs/release.log >>"$log"
    record "$part" failed
    return
  fi
  limit_s=3600 checked build/release/tidemark-bench all --json build/bench.json
}

# What the last runs of the parts showed, sanitized ones aside: they run the same tests.
part_conformance() {
  local known=build/test-logs/conformance.tsv
  cat build/test-logs/{unit,blackbox,kill,sim}.*.tsv >"$known" 2>/dev/null
  checked scripts/conformance "$known" tests/conformance_required.txt build/conformance.md
}
