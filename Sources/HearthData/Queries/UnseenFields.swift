package import HearthModel
internal import Synchronization

/// The fields that were asked for and that no document has had yet.
package final class UnseenFields: Sendable {
  private let state: Mutex<[FieldPath]>

  /// - Parameter paths: The fields that were asked for. Every document has its name.
  package init(_ paths: [FieldPath]) {
    state = Mutex(paths.filter { !$0.isDocumentKey })
  }

  package var paths: [FieldPath] { state.withLock { $0 } }

  package func look(at document: Document) {
    state.withLock { paths in
      guard !paths.isEmpty, let fields = try? document.fields.decoded() else { return }
      paths.removeAll { fields[$0] != nil }
    }
  }
}
