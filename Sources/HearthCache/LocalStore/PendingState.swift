internal import HearthModel

/// A document between two of its pending batches.
struct PendingState {
  /// The document as the backend has it if it carries the batches so far out, and nobody else changes it.
  private(set) var made: Document
  /// As the author of the next batch saw it; nil if that is `made`.
  private(set) var seen: Document?

  /// The document before the first pending batch.
  init(_ base: BaseDocument) {
    made = base.document
  }

  /// As the author of the next batch saw it.
  var shown: Document { seen ?? made }

  /// True if `made` shows more than parts of the document.
  static func isKnown(_ document: Document) -> Bool { document.isFound || document.isMissing }

  /// Goes on with the batch at an index among the pending ones of the document.
  ///
  /// - Parameter base: The row of the document.
  /// - Returns: True if this batch is not based on the result of the one before.
  @discardableResult
  mutating func begin(_ view: AuthorView?, at index: Int, _ base: BaseDocument) -> Bool {
    let other = index == 0 ? nil : index == 1 ? base.next : view?.document
    if let other { (made, seen) = (other, nil) }
    if let shown = view?.shown { seen = shown }
    return other != nil
  }

  /// Carries a batch out; nil stands for one that cannot be read.
  ///
  /// - Parameter isShown: True if parts of a document that is not known count as the document, as in a local view.
  /// - Returns: The mutations that have an effect on `made` and on `shown`, or may have one, by their index.
  @discardableResult
  mutating func apply(_ part: MutationBatch?, isShown: Bool = false) throws -> (made: Set<Int>, shown: Set<Int>) {
    guard let part else {
      (made, seen) = (.unknown(made.key), nil)
      return ([], [])
    }
    let effects = try Self.apply(part, to: &made, isShown: isShown)
    guard var document = seen else { return (effects, effects) }
    let shownEffects = try Self.apply(part, to: &document, isShown: isShown)
    seen = document.isFound == made.isFound && document.hasSameContents(as: made) ? nil : document
    return (effects, shownEffects)
  }

  private static func apply(_ part: MutationBatch, to document: inout Document, isShown: Bool) throws -> Set<Int> {
    guard isShown || isKnown(document) || part.mutations.first?.replacesDocument == true else {
      document = .unknown(document.key)
      return Set(part.mutations.indices)
    }
    for mutation in part.baseMutations {
      _ = try mutation.applyToLocalView(&document, previousMask: .empty, localWriteTime: part.localWriteTime)
    }
    var effects: Set<Int> = []
    for (index, mutation) in part.mutations.enumerated() {
      if mutation.precondition.isSatisfied(by: document) { effects.insert(index) }
      _ = try mutation.applyToLocalView(&document, previousMask: .empty, localWriteTime: part.localWriteTime)
    }
    return effects
  }
}
