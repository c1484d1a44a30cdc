internal import HearthStore

/// Takes back what the component "cache" indexed too much about overlays.
///
/// Every index is a page more in each durable commit of a write and of its acknowledgement, 10 to 15 microseconds of
/// processor time. Overlays exist only for documents with pending writes, so those of a collection are found as a range of
/// paths, and those of a collection group, which are asked for seldom, by going through the user's.
///
/// The table of the component "cache" must exist.
enum OverlaySchema {
  static let schema = Schema(
    component: "overlays",
    migrations: [
      Migration(
        version: 1, name: "overlays by path alone",
        statements: [
          "DROP INDEX IF EXISTS cache_overlays_by_collection", "DROP INDEX IF EXISTS cache_overlays_by_group",
        ])
    ],
    probes: ["SELECT 1 FROM cache_overlays INDEXED BY cache_overlays_by_path WHERE user_id = 0 AND path >= ''"])
}
