# For scripts that read the modules of the last debug build, at the root of the package. To be sourced. Sets
#   products       the folder of the build
#   module_maps    what the compiler needs to import its modules, in addition to -I "$products/Modules"
products="$(swift build --show-bin-path)"
module_maps=()
# SwiftPM makes a module map for C targets without one.
for map in Sources/*/module.modulemap "$products"/*.build/module.modulemap .build/checkouts/*/Sources/*/include/module.modulemap; do
  case "$map" in *-tool.build/*) continue ;; esac
  [ ! -e "$map" ] || module_maps+=(-Xcc "-fmodule-map-file=$map")
done
# CPostgres imports headers of libpq, which are not where the compiler looks.
if command -v pkg-config >/dev/null && pkg-config --exists libpq; then
  for flag in $(pkg-config --cflags libpq); do module_maps+=(-Xcc "$flag"); done
fi
