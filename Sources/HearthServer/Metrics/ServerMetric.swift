/// A metric of the server: its name for swift-metrics, its kind, its labels and its meaning.
///
/// A label has few values, all known in advance: names of methods, status codes, names of limits. Names of projects, databases, collections
/// and documents, and values of fields are never labels: clients choose them, so their number is unbounded, and some are personal.
package enum ServerMetric: String, CaseIterable, Sendable {
  case limitUsed = "hearth.server.limit.used"
  case limitAllowed = "hearth.server.limit.allowed"
  case limitExceeded = "hearth.server.limit.exceeded"
  case calls = "hearth.server.calls"
  case callDuration = "hearth.server.call.duration"
  case requestBytes = "hearth.server.request.bytes"
  case streams = "hearth.server.streams"
  case targets = "hearth.server.targets"
  case commits = "hearth.server.commits"
  case documentsWritten = "hearth.server.documents.written"
  case diskFull = "hearth.server.disk.full"
  case diskFailed = "hearth.server.disk.failed"
  case storageFailures = "hearth.server.storage.failures"
  case transactions = "hearth.server.transactions"
  case transactionsAborted = "hearth.server.transactions.aborted"
  case locksWaiting = "hearth.server.locks.waiting"
  case lockWaitDuration = "hearth.server.lock.wait.duration"
  case readsWaiting = "hearth.server.reads.waiting"
  case queryComponents = "hearth.server.query.components"
  case queryDisjunctions = "hearth.server.query.disjunctions"
  case certificateSeconds = "hearth.server.certificate.seconds"
  case storageAvailable = "hearth.server.storage.available"
  case storageSessions = "hearth.server.storage.sessions"
  case commitGroupSize = "hearth.server.commit.group.size"
  case commitDelay = "hearth.server.commit.delay"

  package enum Kind: String, Sendable {
    case counter, gauge, timer, recorder
  }

  package var kind: Kind {
    switch self {
    case .limitUsed, .limitAllowed, .streams, .targets, .transactions, .locksWaiting, .readsWaiting,
      .certificateSeconds, .storageAvailable, .storageSessions:
      .gauge
    case .limitExceeded, .calls, .commits, .documentsWritten, .diskFull, .diskFailed, .storageFailures,
      .transactionsAborted:
      .counter
    case .callDuration, .lockWaitDuration, .commitDelay: .timer
    case .requestBytes, .queryComponents, .queryDisjunctions, .commitGroupSize: .recorder
    }
  }

  package var labels: [String] {
    switch self {
    case .limitUsed, .limitAllowed, .limitExceeded: ["limit"]
    case .calls: ["method", "code"]
    case .callDuration, .streams: ["method"]
    case .storageSessions: ["pool", "state"]
    default: []
    }
  }

  /// The texts of ``help`` by name.
  package static var helpTexts: [String: String] {
    Dictionary(uniqueKeysWithValues: allCases.map { ($0.rawValue, $0.help) })
  }

  package var help: String {
    switch self {
    case .limitUsed:
      "Current use of a limit; if each connection, stream or database has the limit, that of the largest user."
    case .limitAllowed: "Value of a limit."
    case .limitExceeded:
      "Number of times that a limit was exceeded: a request, call or connection was refused, ended, dropped or had to wait."
    case .calls: "Calls that have ended, by method and status code."
    case .callDuration: "Time from the start of a call's work to its end; for a stream, its lifetime."
    case .requestBytes: "Size of a request message in bytes."
    case .streams: "Open streams of methods whose requests are streamed."
    case .targets: "Targets of all Listen streams."
    case .commits: "Commits that have written documents."
    case .documentsWritten: "Documents that commits have changed."
    case .diskFull:
      "Commits and openings of databases that failed because the disk is full; of commits that are written together, one is counted."
    case .diskFailed:
      "Databases that take no commits until the server has been restarted, because the disk has failed to keep one."
    case .storageFailures:
      "Reads, commits and openings of databases that failed because of the storage: a damaged file, a disk that cannot be read or written."
    case .transactions: "Open transactions of all databases."
    case .transactionsAborted:
      "Transactions that were ended with ABORTED, because of a deadlock, contention, or a wait that took too long."
    case .locksWaiting: "Writes and reads of transactions that wait for locks of other transactions."
    case .lockWaitDuration: "Time that a write, or a read of a transaction, has waited for locks of other transactions."
    case .readsWaiting: "Reads of the storage that wait for their turn."
    case .queryComponents: "Filters, orders and the parent document of a query."
    case .queryDisjunctions: "Disjunctions of a query in disjunctive normal form."
    case .certificateSeconds:
      "Seconds until the server's certificate, or one of its intermediate authorities, expires; only with TLS."
    case .storageAvailable: "1, or 0 while PostgreSQL is out of reach; only with --storage."
    case .storageSessions:
      "Sessions of PostgreSQL by purpose: open, busy, and calls that are waiting for one; only with --storage."
    case .commitGroupSize:
      "Commits of this node that were stored in one transaction of PostgreSQL; only with --storage."
    case .commitDelay:
      "Time from the newest commit of other nodes until this node has told its listeners of it; only with --storage."
    }
  }
}
