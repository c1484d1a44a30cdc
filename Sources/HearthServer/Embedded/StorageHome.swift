internal import HearthStore

/// The file that a database without commits gets with its first commit.
struct StorageHome: Sendable {
  /// Makes room for the database. `.memory` says that it stays where it is.
  var create: @Sendable () throws -> Database.Location
  /// Undoes ``create`` when the database could not be moved there, or its first commit failed there.
  var discard: @Sendable () -> Void
  /// The database has moved.
  var settled: @Sendable () -> Void

  init(
    create: @escaping @Sendable () throws -> Database.Location, discard: @escaping @Sendable () -> Void,
    settled: @escaping @Sendable () -> Void
  ) {
    self.create = create
    self.discard = discard
    self.settled = settled
  }
}
