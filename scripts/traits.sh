# The traits of the package with which tests and documentation are built: PostgreSQL, too, where its client library is installed. To be
# sourced; `swift build "${traits[@]}"`. Every command that shares a build needs the same ones. `trait_flags` are for the compiler itself.
traits=(--traits ServiceAccounts)
trait_flags=()
if command -v pkg-config >/dev/null && pkg-config --exists libpq; then
  traits=(--traits ServiceAccounts,PostgreSQL)
  trait_flags=(-D PostgreSQL)
fi
