internal import HearthModel

/// The epochs of a database. They say which versions belong to which of its histories.
///
/// A folder that is restored from a copy continues from an earlier state, and clients know commits that it lacks. Versions are times, so
/// later commits have later versions, and a version alone does not show which history its owner has seen. Therefore a new epoch starts with
/// the first commit after each start, in the same transaction, and a position names its epoch. A position is good if its epoch is known and
/// has not ended before it:
///
///     original   e1 ─ a ─ b ─ c             (e1, c) was given to a client
///     copy       e1 ─ a ─ b ─┬ e2 ─ d       e1 ended with b: (e1, b) is good, (e1, c) is not
///
/// Before its first commit, a start may show its state at a later version to its listeners, see ``EmbeddedStorage/catchUpFeed(seen:)``. Their
/// positions are those of the commit before.
///
/// This detects every restoration that is followed by a start of the server, even from a copy that was made while the server ran, and needs
/// no support of the file system. It does not detect a machine that is restored together with the memory of its processes.
struct Epochs: Sendable {
  struct Epoch: Hashable, Sendable {
    /// Rises by one.
    var number: Int64
    /// Random bytes.
    var id: [UInt8]
    /// The newest version when it began, the last one of the epoch before.
    var after: SnapshotVersion
    /// Its first commit, an earlier version that its start has announced, or the creation of the database.
    var first: SnapshotVersion
  }

  /// A start that has not committed anything.
  struct Quiet: Sendable {
    /// The first version that this start has announced, see ``ServerState/saveAnnounced(_:in:)``.
    var announced: SnapshotVersion?
  }

  /// More epochs are not kept, however short the history. Their positions count as unknown.
  static let maximumCount = 256

  /// Oldest first.
  let all: [Epoch]
  /// Nil once the start has begun an epoch.
  var quiet: Quiet?
  /// The newest commit, or the creation of the database: all later versions show the same. Nil if it is not known.
  var latestCommit: SnapshotVersion?

  init(_ all: [Epoch], quiet: Quiet? = nil) {
    self.all = all
    self.quiet = quiet
  }

  /// The epoch of a new database.
  init(creation version: SnapshotVersion) {
    all = [Epoch(number: 1, id: Self.draw(), after: version, first: version)]
  }

  private static func draw() -> [UInt8] { (0..<8).map { _ in UInt8.random(in: .min ... .max) } }

  /// The token of a version that the database has given out.
  func token(at version: SnapshotVersion) -> ResumeToken {
    let position = latestCommit.map { min(version, $0) } ?? version
    let epoch = all.last { $0.first <= version } ?? all.first
    return ResumeToken(epoch: epoch?.id ?? [], version: position, snapshot: version)
  }

  /// True if what a client has up to a token is a part of this database's history, as far as that is kept.
  func contains(_ token: ResumeToken) -> Bool {
    guard let index = all.lastIndex(where: { $0.id == token.epoch }) else { return false }
    let next = all.index(after: index)
    let end = next == all.endIndex ? latestCommit : all[next].after
    return end.map { token.version <= $0 } ?? true
  }

  /// True unless what a stream has sent up to a token was replaced. The token's epoch may be forgotten by now: the stream has stayed open while
  /// a later one began, and the history no longer reaches back.
  func continues(_ token: ResumeToken) -> Bool {
    contains(token) || all.first.map { token.version <= $0.after } ?? true
  }

  /// True unless a version lies between the end of an epoch and the beginning of the next one. A restored database has no commits then, and
  /// the one that was lost may have had some.
  func contains(_ version: SnapshotVersion) -> Bool {
    if quiet != nil, let latestCommit, version > latestCommit { return quiet?.announced.map { $0 <= version } ?? false }
    return !all.contains { $0.after < version && version < $0.first }
  }

  /// These epochs with one that begins, without those that nobody can resume from.
  ///
  /// - Parameters:
  ///   - after: The newest version before.
  ///   - first: Its first version.
  ///   - logStart: Earlier versions are not resumed from.
  func beginning(
    after: SnapshotVersion, first: SnapshotVersion, logStart: SnapshotVersion
  ) -> Epochs {
    var epochs = all
    epochs.append(Epoch(number: (all.last?.number ?? 0) + 1, id: Self.draw(), after: after, first: first))
    // An epoch ended before the log began if the next one began before that.
    let known = epochs.lastIndex { $0.after < logStart } ?? epochs.startIndex
    epochs.removeSubrange(..<max(known, epochs.endIndex - Self.maximumCount))
    return Epochs(epochs)
  }
}
