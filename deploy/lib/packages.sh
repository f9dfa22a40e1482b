# Debian packages for the scripts of this project. To be sourced from the project's root, under
# `set -euo pipefail`. The list is deploy/packages.txt; a group is a word of its second column.

packages_list=deploy/packages.txt

# Names the packages of the given groups, one a line.
packages_of() {
  awk -v groups=" $* " '!/^#/ && NF == 2 && index(groups, " " $2 " ") { print $1 }' "$packages_list"
}

# Names those of the given groups that are not installed.
packages_missing() {
  local package
  for package in $(packages_of "$@"); do
    [[ $(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null) == installed ]] ||
      echo "$package"
  done
}

# Has apt install packages as they were at a moment of snapshot.debian.org, whose lists are older than apt likes them.
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

# Installs what is missing of the given groups, and says so first. Needs root, or sudo.
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
  # RUNLEVEL: a package that brings a service (prometheus, for promtool) does not start it.
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 \
    apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
}
