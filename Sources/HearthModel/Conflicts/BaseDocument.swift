/// The document that the oldest waiting write of a user is based on.
package struct BaseDocument: Equatable, Sendable {
  /// As the backend had it, with that version; unknown if the cache did not have it.
  package var document: Document
  /// As the author of the write saw it; nil if that is `document`. A write before it may have left the outbox without an effect. Then this is the
  /// base of a merge, while `document` tells whether there is a conflict. It is stored with the write, see ``AuthorView/shown``.
  package var shown: Document?
  /// True if the backend's document has become another one than `document` by the resolution of an earlier conflict.
  package var isOutdated: Bool
  /// The document that the write after the oldest one is based on, if it differs from the result of the oldest one. That happens when the
  /// resolution of a conflict has replaced the oldest write, or when the cache had lost the document or received a newer one before the
  /// later write.
  package var next: Document? { didSet { if next == nil { nextIsApart = false } } }
  /// True if the author of that write had not seen the oldest one: then it changes no copy that was made of the oldest one.
  package var nextIsApart = false
  /// Part of the name of copies that are made of the document; empty as long as none was.
  package var copyName: String

  package init(_ document: Document, isOutdated: Bool = false, next: Document? = nil, copyName: String = "") {
    self.document = document
    self.isOutdated = isOutdated
    self.next = next
    self.copyName = copyName
  }

  /// True if the backend's document must be read before a write can be sent.
  package var mustBeCompared: Bool { isOutdated || !(document.isFound || document.isMissing) }

  /// The condition under which a mutation may be carried out; nil if its own one is enough.
  package func guardedPrecondition(of mutation: Mutation) -> Precondition? {
    switch (mutation.operation, mutation.precondition) {
    case (.verify, _), (_, .updateTime), (_, .exists(false)): nil
    case _ where document.isFound: .updateTime(document.version)
    case (_, .exists(true)): nil
    case (.delete, _): document.isMissing ? .exists(false) : nil
    case (.set, _), (.patch, _): .exists(false)
    }
  }

  /// Returns whether the backend's document differs from the one that a write is based on.
  package func isContradicted(by remote: Document) -> Bool {
    if isOutdated { return !hasContents(of: remote) }
    if document.isFound { return !remote.isFound || remote.version != document.version }
    return remote.isFound
  }

  /// Returns whether both exist with the same fields, or neither does.
  package func hasContents(of other: Document) -> Bool {
    document.isFound == other.isFound && document.hasSameContents(as: other)
  }
}

extension MutationBatch {
  /// The preconditions that bind mutations to the documents that they are based on. Each document gets one, in place of the precondition of
  /// its first mutation. Further mutations of a document find it as the first one has left it.
  package static func guards(
    of mutations: [Mutation], madeFor bases: [DocumentKey: BaseDocument]
  ) -> [DocumentKey: Precondition] {
    var guards: [DocumentKey: Precondition] = [:]
    for mutation in mutations where guards[mutation.key] == nil {
      guard let base = bases[mutation.key] else { continue }
      guards[mutation.key] = base.guardedPrecondition(of: mutation) ?? mutation.precondition
    }
    return guards
  }
}
