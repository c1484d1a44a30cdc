/// The documents whose writes are checked for conflicts.
package enum ConflictScope: Hashable, Sendable {
  case document(DocumentKey)
  /// The documents of a collection, without those of its subcollections.
  case collection(ResourcePath)
  /// The documents of all collections with this id.
  case collectionGroup(String)

  package func contains(_ key: DocumentKey) -> Bool {
    switch self {
    case .document(let document): document == key
    case .collection(let path): key.collectionPath == path
    case .collectionGroup(let id): ByteOrder.areEqual(key.collectionGroup, id)
    }
  }
}

/// The resolution of a conflict: the backend's document is not the one that a waiting write is based on.
package enum ConflictPolicy: Hashable, Sendable {
  /// Field by field; where both sides have changed a field, the local change stays, or the backend's.
  case mergeFields(prefersRemote: Bool)
  /// The side with the larger value in a field; the backend's if neither is larger.
  case lastWriter(FieldPath)
  /// The backend's document stays, and the local one becomes another document.
  case keepBoth
  /// The application is asked; it knows its resolvers by number.
  case ask(resolver: Int)

  /// True if its result can have changes of both sides in one document.
  package var merges: Bool { if case .mergeFields = self { true } else { false } }
}

package struct ConflictRule: Hashable, Sendable {
  package var scope: ConflictScope
  package var policy: ConflictPolicy

  package init(_ scope: ConflictScope, _ policy: ConflictPolicy) {
    self.scope = scope
    self.policy = policy
  }
}

/// The rules in order. For each document, the first rule that contains it counts.
package struct ConflictRules: Hashable, Sendable {
  package var rules: [ConflictRule]

  package init(_ rules: [ConflictRule] = []) {
    self.rules = rules
  }

  package var isEmpty: Bool { rules.isEmpty }

  /// Nil for a document that no rule contains.
  package func policy(for key: DocumentKey) -> ConflictPolicy? {
    rules.first { $0.scope.contains(key) }?.policy
  }
}
