# Functions for the Debian packages that this project's scripts need. Must be sourced from the project's root, under
# `set -euo pipefail`. The packages are listed in deploy/packages.txt, whose second column is the group of a package.

packages_list=deploy/packages.txt

# Prints the packages of the given groups, one on each line.
packages_of() {
  awk -v groups=" $* " '!/^#/ && NF == 2 && index(groups, " " $2 " ") { print $1 }' "$packages_list"
}

# Prints the packages of the given groups that are not installed.
packages_missing() {
  local package
  for package in $(packages_of "$@"); do
    [[ $(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null) == installed ]] ||
      echo "$package"
  done
}

# Makes apt install packages as they were at a moment of snapshot.debian.org. The lists of that moment have expired, so apt must not check that.
packages_pin() { # moment [root of the system]
  local apt=${2:-}/etc/apt
  rm -f "$apt/sources.list" "$apt"/sources.list.d/*
  mkdir -p "$apt/sources.list.d" "$apt/apt.conf.d"
  echo 'Acquire::Check-Valid-Until "false";' >"$apt/apt.conf.d/80-snapshot"
  cat >"$apt/sources.list.d/debian.sources" <<SOURCES
Types: deb
URIs: http://snapshot.debian.org/archive/debian/$1
Suites: bookworm bookworm-updates
Components: main
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg

Types: deb
URIs: http://snapshot.debian.org/archive/debian-security/$1
Suites: bookworm-security
Components: main
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg
SOURCES
}

# Installs the missing packages of the given groups, and prints their names first. Needs root or sudo.
packages_install() {
  local missing as_root=()
  if ! command -v apt-get >/dev/null; then
    echo "This is not a Debian system; please install what stands for: $(packages_of "$@" | xargs)" >&2
    echo "Going on with what there is." >&2
    return
  fi
  mapfile -t missing < <(packages_missing "$@")
  if ((${#missing[@]} == 0)); then
    echo "packages: all there"
    return
  fi
  echo "packages: installing ${missing[*]}"
  echo "          (compilers and libraries that Capstan is built with; listed in $packages_list)"
  if ((EUID != 0)); then
    if ! command -v sudo >/dev/null; then
      echo "Please run as root, once: apt-get install ${missing[*]}" >&2
      return 2
    fi
    as_root=(sudo)
  fi
  "${as_root[@]}" apt-get update -qq
  # RUNLEVEL=1: a package that contains a service does not start it. An example is prometheus, which is needed for promtool.
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 \
    apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
}
