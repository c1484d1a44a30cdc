#if PostgreSQL
  internal import HearthModel
  internal import Synchronization

  /// The numbers of a database's collections, as far as a node has met them. A number never changes and is never used twice, so whatever is
  /// kept here stays true as long as the database's history does: in another one, a number may stand for another collection.
  final class ClusterCollections: Sendable {
    private struct State {
      var numbers: [ResourcePath: Int64] = [:]
      var paths: [Int64: ResourcePath] = [:]
      var bytes = 0
    }

    /// All are forgotten when their paths have more bytes.
    private static let maximumBytes = 8 << 20
    private static let bytesPerCollection = 128

    private let state = Mutex(State())

    /// - Returns: nil if it is not known here.
    func number(of path: ResourcePath) -> Int64? { state.withLock { $0.numbers[path] } }

    /// - Returns: nil if it is not known here.
    func path(of number: Int64) -> ResourcePath? { state.withLock { $0.paths[number] } }

    /// Takes note of a collection whose row is committed.
    func note(_ path: ResourcePath, _ number: Int64) {
      state.withLock { state in
        guard state.numbers[path] == nil else { return }
        let bytes = 2 * path.canonicalString.utf8.count + Self.bytesPerCollection
        if state.bytes + bytes > Self.maximumBytes { state = State() }
        state.numbers[path] = number
        state.paths[number] = path
        state.bytes += bytes
      }
    }
  }

  /// A collection as a snapshot has it.
  struct ClusterCollection: Sendable {
    var number: Int64
    var path: ResourcePath
    /// The number of its documents.
    var documents: Int
  }

  /// Names a document by its collection's number and its id's bytes.
  struct ClusterPlace: Hashable, Comparable, Sendable {
    var collection: Int64
    /// See ``ClusterNames/idBytes(_:)``.
    var id: [UInt8]

    static func < (a: ClusterPlace, b: ClusterPlace) -> Bool {
      a.collection == b.collection ? a.id.lexicographicallyPrecedes(b.id) : a.collection < b.collection
    }
  }
#endif
