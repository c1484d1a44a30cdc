#if PostgreSQL
  internal import HearthModel

  extension ClusterNames {
    /// The bytes of `path_order` in `hearth_collections`: with the id of a group, of up to 1,500 bytes, they must fit in a key of a B-tree.
    static let pathOrderLimit = 1_000

    /// The place of a path in the order of paths. The places of all paths below it begin with these bytes, so that it comes before them.
    static func order(of path: ResourcePath) -> [UInt8] {
      var writer = OrderedValueWriter()
      for segment in path.segments { writer.append(documentID: segment) }
      return writer.bytes
    }

    /// The first bytes of the place of a path, as `hearth_collections` has them.
    static func pathOrder(_ path: ResourcePath) -> [UInt8] { Array(order(of: path).prefix(pathOrderLimit)) }

    /// The bounds of all ids.
    static let firstID: [UInt8] = []
    static let endOfIDs: [UInt8] = [0xFF]

    /// The smallest key that is greater than another one.
    static func successor(of key: [UInt8]) -> [UInt8] { key + [0] }
  }
#endif
