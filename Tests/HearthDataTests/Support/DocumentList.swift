import HearthModel
import Synchronization

/// Documents that a query has sent.
final class DocumentList: Sendable {
  private let state = Mutex<[Document]>([])

  var all: [Document] { state.withLock { $0 } }

  func add(_ document: Document) {
    state.withLock { $0.append(document) }
  }
}
