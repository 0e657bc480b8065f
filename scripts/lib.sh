# shellcheck shell=bash
# Helpers shared by ./run and ./test; sourced by bash from the root of the repository, never run by itself.

mkdir -p build/logs
child=      # the process group that runs now, and the progress line beside it: Ctrl-C stops both
watcher=
on_terminal=
[ -t 1 ] && on_terminal=1

say() { printf '%s\n' "$*"; }

# die WHAT [WHAT-TO-DO]
die() {
  clear_status
  printf '%s: %s\n' "${0##*/}" "$1" >&2
  [ $# -lt 2 ] || printf '  → %s\n' "$2" >&2
  exit 1
}

# A line that the next one replaces; only on a terminal.
status() {
  [ -n "$on_terminal" ] || return 0
  printf '\r\033[K%s' "$*"
}
clear_status() { status ''; }

# Milliseconds since the epoch.
now_ms() { echo $((${EPOCHREALTIME/[.,]/} / 1000)); }

# in_group COMMAND...: runs it in a process group of its own without stdin, waits, and ends whatever it left
# running. Returns its exit code.
in_group() {
  local code=0
  set -m
  "$@" </dev/null &
  child=$!
  set +m
  wait "$child" || code=$?
  end_group
  return "$code"
}
end_group() {
  [ -n "$child" ] || return 0
  kill -TERM -- "-$child" 2>/dev/null && sleep 0.2 && kill -KILL -- "-$child" 2>/dev/null
  child=
}
end_watcher() {
  [ -n "$watcher" ] || return 0
  kill "$watcher" 2>/dev/null
  wait "$watcher" 2>/dev/null
  watcher=
  clear_status
}
trap 'end_watcher; end_group; exit 130' INT
trap 'end_watcher; end_group; exit 143' TERM HUP

# port_is_taken HOST PORT: whether somebody listens there.
port_is_taken() { (exec 3<>"/dev/tcp/$1/$2") 2>/dev/null; }

# need_disk MEGABYTES FOLDER WHAT-FOR
need_disk() {
  local free_mb
  free_mb=$(df -Pk "$2" | awk 'NR == 2 { print int($4 / 1024) }')
  [ "$free_mb" -ge "$1" ] ||
    die "no disk: $3 takes about $1 MB, and $(cd "$2" && pwd) has $free_mb MB free" "make room, then start again"
}

# packages_of SET...: "name why" lines.
packages_of() {
  awk -v sets=" $* " '!/^#/ && NF && index(sets, " " $1 " ") { $1 = ""; print substr($0, 2) }' scripts/packages.txt
}

# Those of the named packages that are not installed.
missing_packages() {
  dpkg-query -W -f '${Package} ${db:Status-Status}\n' "$@" 2>/dev/null |
    awk -v wanted="$*" '
      $2 == "installed" { have[$1] = 1 }
      END { n = split(wanted, names, " "); for (i = 1; i <= n; i++) if (!(names[i] in have)) print names[i] }'
}

# install_packages SET...: installs what is missing and says what and why; without anything missing it is silent
# and asks no server.
install_packages() {
  local wanted missing sudo='' begin
  mapfile -t wanted < <(packages_of "$@" | awk '{ print $1 }')
  if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
    say "This is no Debian, so nothing is installed. Needed are: ${wanted[*]}"
    return 0
  fi
  mapfile -t missing < <(missing_packages "${wanted[@]}")
  [ ${#missing[@]} -gt 0 ] || return 0

  say "Installing ${#missing[@]} Debian packages:"
  packages_of "$@" | awk -v missing=" ${missing[*]} " '
    index(missing, " " $1 " ") { name = $1; $1 = ""; printf "  %-20s —%s\n", name, $0 }'
  local install=(apt-get install -y -qq --no-install-recommends)
  if [ "$(id -u)" != 0 ]; then
    command -v sudo >/dev/null ||
      die "installing packages needs root, and there is no sudo" "as root: apt-get update; ${install[*]} ${missing[*]}"
    sudo=sudo
    sudo -v || die "installing packages needs root" "as root: apt-get update; ${install[*]} ${missing[*]}"
  fi
  need_disk $((55 * ${#missing[@]})) /usr "installing packages"

  begin=$(now_ms)
  local log=build/logs/install.log failed=
  local apt=(${sudo:+sudo} env DEBIAN_FRONTEND=noninteractive apt-get
    -o DPkg::Lock::Timeout=120 -o Acquire::Retries=3 -o Dpkg::Use-Pty=0)
  say "(output in $log)"
  "${apt[@]}" update -qq >"$log" 2>&1 </dev/null || failed=1
  # Lists that did not arrive may not matter: what counts is whether the packages can be had.
  "${apt[@]}" "${install[@]:1}" "${missing[@]}" >>"$log" 2>&1 </dev/null && failed= || failed=1
  if [ -n "$failed" ]; then
    tail -n 6 "$log" | cut -c1-200 >&2
    die "the packages could not be installed (all of it: $log)" "$(apt_advice "$log")"
  fi
  step_done packages "$begin"
}

# What to do about an apt log that ends badly.
apt_advice() {
  local pattern advice
  while IFS='|' read -r pattern advice; do
    if grep -qiE "${pattern//;/|}" "$1"; then
      say "$advice"
      return
    fi
  done <<'ADVICE'
could not resolve;temporary failure;could not connect;unable to connect;network is unreachable;connection timed out;connection failed|no network: check the connection (and http_proxy, if there is one), then start again
no space left;enough free space|no disk: make room (apt-get clean helps), then start again
dpkg was interrupted|run dpkg --configure -a as root, then start again
could not get lock|another program is installing packages: let it finish, then start again
unable to locate;no installation candidate;has no installation|this machine's lists lack the package: Tidemark is built on Debian 12 (bookworm, main); look into /etc/apt/sources.list and /etc/apt/sources.list.d
release file.*not valid yet;expired|the machine's clock or its mirror is wrong: check date and the mirror
unmet dependencies;broken packages|run apt-get --fix-broken install as root, then start again
.|run apt-get update and apt-get install by hand to see what is wrong
ADVICE
}

# step_done NAME BEGIN-MS: "  packages  62 s".
step_done() { printf '  %-9s %3d s\n' "$1" $((($(now_ms) - $2 + 500) / 1000)); }

# As many compilers at once as there are cores, but no more than fit into memory (1 GB each).
job_count() {
  local cores memory_gb
  cores=$(nproc)
  memory_gb=$(awk '/^MemAvailable/ { print int($2 / 1048576) }' /proc/meminfo)
  [ "${memory_gb:-1}" -ge 1 ] || memory_gb=1
  echo $((cores < memory_gb ? cores : memory_gb))
}

# build PRESET TARGET...: configures and builds in build/PRESET, showing how far it is: a moving line on a terminal,
# otherwise a line each 10 s (TIDEMARK_QUIET: none). The log is build/logs/PRESET.log; returns 1 when it failed.
build() {
  local preset=$1 log=build/logs/$1.log home
  shift
  # A tree that was moved or copied has a cache that speaks of another place.
  home=$(sed -n 's/^CMAKE_HOME_DIRECTORY:INTERNAL=//p' "build/$preset/CMakeCache.txt" 2>/dev/null) || true
  [ -z "$home" ] || [ "$home" = "$PWD" ] || rm -rf "build/$preset"
  # Presets share compiled objects: paths relative to the build folder, which all lie equally deep.
  export CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=1
  status "build $preset: configuring"
  in_group cmake --preset "$preset" >"$log" 2>&1 || return 1
  watch_progress "$preset" "$log" &
  local code=0
  watcher=$!
  in_group ninja -C "build/$preset" -j "$(job_count)" "$@" >>"$log" 2>&1 || code=1
  end_watcher
  return "$code"
}
watch_progress() {
  local now last='' ticks=0
  while sleep 1; do
    now=$(tail -n 3 "$2" | sed -n 's/^\[\([0-9]*\)\/\([0-9]*\)\].*/\1 of \2/p' | tail -n 1)
    [ -n "$now" ] || continue
    status "build $1: $now"
    ticks=$((ticks + 1))
    if [ -z "$on_terminal${TIDEMARK_QUIET:-}" ] && [ $((ticks % 10)) = 0 ] && [ "$now" != "$last" ]; then
      say "  built $now"
      last=$now
    fi
  done
}

# The part of a build log that says what is wrong.
build_error() {
  if grep -q '^FAILED:' "$1"; then
    sed -n '/^FAILED:/,$p' "$1" | grep -v '^\[' | cut -c1-400 | sed '2{/clang++/d}' | head -n 40
  else
    tail -n 20 "$1"
  fi
}
build_advice() {
  if grep -qi 'no space left' "$1"; then
    say "no disk: make room, then start again"
  elif grep -qiE 'killed|out of memory|signal 9' "$1"; then
    say "out of memory: close other programs or add swap, then start again; it goes on where it stopped"
  else
    say "the whole log is $1"
  fi
}
