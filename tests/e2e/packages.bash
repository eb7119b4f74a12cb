# packages.bash: sourced with $HERE and $TMP set: the Debian packages of this source, and those of a later version, as $TMP/v1 and $TMP/v2.
SOURCE=$(realpath "$HERE/../..")
COPY=$TMP/source

# no_package_tools: says what is missing, if anything.
no_package_tools() {
    local tool
    for tool in dpkg-buildpackage dh; do
        command -v $tool >/dev/null || { echo "no $tool (scripts/packages.test)"; return 0; }
    done
    return 1
}
source_copied() { mkdir "$COPY" && git -C "$SOURCE" ls-files -z | (cd "$SOURCE" && tar --null -T - -cf -) | tar -xf - -C "$COPY"; }
build_packages() {  # build_packages OPTION...; a compiler cache and no LTO: the packages are the same, the program is slower
    (cd "$COPY" && env PATH="/usr/lib/ccache:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin" DEB_BUILD_OPTIONS="nolto parallel=$(nproc)" \
        dpkg-buildpackage -us -uc -b "$@" >"$TMP/build.log" 2>&1) || { tail -n 15 "$TMP/build.log"; return 1; }
}
# set_aside FOLDER: what was built, and what lintian reads.
set_aside() { mkdir "$TMP/$1" && mv "$TMP"/*.deb "$TMP"/*.changes "$TMP"/*.buildinfo "$TMP/$1"; }
first_packages() { source_copied && build_packages && set_aside v1; }
# A later version: two examples have changed, and nothing has to be compiled.
later_packages() {
    local version
    version=$(dpkg-parsechangelog -l "$COPY/debian/changelog" -S Version)
    sed -i "1,/^ --/s/($version)/($version+1)/" "$COPY/debian/changelog" && sed -i '$a# of the later version' "$COPY/config/default.conf" "$COPY/config/quickstart.conf" &&
        build_packages -nc && set_aside v2
}

# debian_packages: those that another test has left in the source's build-packages, or made anew. Their name says what they are
# made of: everything but the tests. Several may make them at once: the first one's stay.
debian_packages() {
    local kept
    kept=$SOURCE/build-packages/$(git -C "$SOURCE" ls-files -z -- . ':!tests' | (cd "$SOURCE" && xargs -0 sha256sum) | sha256sum | cut -c 1-16)
    [ ! -d "$kept" ] || { cp -r "$kept/v1" "$kept/v2" "$TMP" && return; }
    first_packages && later_packages && mkdir -p "$kept.$$" && cp -r "$TMP/v1" "$TMP/v2" "$kept.$$" || return 1
    mv -T "$kept.$$" "$kept" 2>/dev/null || rm -rf "$kept.$$"
    find "${kept%/*}" -mindepth 1 -maxdepth 1 -mmin +1440 -exec rm -rf {} +  # of sources that are gone
}
