internal import HearthModel

/// Looks up documents whose state a query's result leaves open.
///
/// A document is in limbo for a view when it is in the view although the backend has sent the whole result without it. Each such document
/// is looked up with a target of its own, once even if several views need it. A limit bounds the look-ups at a time; the other documents
/// wait in the order in which they were found.
///
/// A document that exists as the view shows it stays in limbo permanently. It does not count towards the limit of look-ups; otherwise the
/// documents after it would wait permanently. Up to the limit, such documents keep their targets, so that views receive changes. A new
/// stream must be asked for all targets again, so then the limit holds for all of them together.
///
/// | document | a view needs it | the last view that needed it does not | backend refuses | new stream |
/// |---|---|---|---|---|
/// | unknown | waits, or is looked up if the limit allows | - | - | - |
/// | waiting | - | forgotten | - | - |
/// | being looked up | - | target released, the next is looked up | the next is looked up | - |
/// | found, with a target | - | target released | forgotten | being looked up, or waits if the limit is reached |
/// | found, without | - | forgotten | - | waits |
struct LimboResolutions {
  enum Action: Equatable {
    case listen(DocumentKey, TargetID)
    case unlisten(TargetID)
  }

  struct Resolution: Equatable {
    var key: DocumentKey
    /// True if the last snapshot left the document in the target. Nothing may be concluded from its absence before the
    /// backend has said that the target is current.
    var hasReceivedDocument = false
    /// True if the backend had sent everything about the document in the last snapshot.
    var isCurrent = false
    /// True if the backend has said everything about the document as it is now.
    var isFound: Bool { isCurrent && hasReceivedDocument }
  }

  private let limit: Int
  private var nextTargetID: TargetID = 1
  private var viewsByKey: [DocumentKey: Set<QueryID>] = [:]
  private var keysByView: [QueryID: Set<DocumentKey>] = [:]
  private var waiting = FIFOSet<DocumentKey>()
  private var targetIDs: [DocumentKey: TargetID] = [:]
  private var resolutions: [TargetID: Resolution] = [:]
  /// The documents that were found and are not followed, because enough others are.
  private var foundWithoutTarget: Set<DocumentKey> = []

  init(limit: Int) {
    self.limit = limit
  }

  /// The documents being looked up, with their targets.
  var active: [DocumentKey: TargetID] { targetIDs }
  /// The documents that wait for a free place, in order.
  var enqueued: [DocumentKey] { waiting.elements }

  /// True if no view has a document in limbo.
  var isEmpty: Bool { viewsByKey.isEmpty }

  func resolution(of target: TargetID) -> Resolution? { resolutions[target] }

  /// The set of a view's limbo documents has changed.
  ///
  /// - Parameter entered: The new ones, in the order of their look-ups.
  mutating func viewChanged(_ view: QueryID, entered: [DocumentKey], left: [DocumentKey]) -> [Action] {
    var actions: [Action] = []
    for key in entered {
      viewsByKey[key, default: []].insert(view)
      keysByView[view, default: []].insert(key)
      if targetIDs[key] == nil, !foundWithoutTarget.contains(key) { waiting.append(key) }
    }
    for key in left { actions += release(key, from: view) }
    return actions + fillPlaces()
  }

  /// A view is gone.
  mutating func viewRemoved(_ view: QueryID) -> [Action] {
    var actions: [Action] = []
    for key in (keysByView[view] ?? []).sorted() { actions += release(key, from: view) }
    return actions + fillPlaces()
  }

  /// The documents that exist according to the backend. Views show them as they were sent.
  var foundKeys: Set<DocumentKey> {
    foundWithoutTarget.union(resolutions.values.lazy.filter(\.isFound).map(\.key))
  }

  /// A snapshot brought the document, or took it away again.
  mutating func received(_ target: TargetID, holdsDocument: Bool) {
    resolutions[target]?.hasReceivedDocument = holdsDocument
  }

  /// A snapshot said whether everything was sent.
  mutating func noteCurrent(_ target: TargetID, _ isCurrent: Bool) {
    resolutions[target]?.isCurrent = isCurrent
  }

  /// A stream is about to be asked for all targets. It has said nothing of them yet.
  mutating func streamBegins() -> [Action] {
    var actions: [Action] = []
    for (index, target) in resolutions.keys.sorted().enumerated() {
      if index < limit {
        resolutions[target]?.isCurrent = false
      } else if let key = resolutions.removeValue(forKey: target)?.key {
        targetIDs[key] = nil
        waiting.append(key)
        actions.append(.unlisten(target))
      }
    }
    for key in foundWithoutTarget.sorted() { waiting.append(key) }
    foundWithoutTarget = []
    return actions + fillPlaces()
  }

  /// Forgets all documents. Numbers of targets are not given again.
  mutating func removeAll() {
    viewsByKey = [:]
    keysByView = [:]
    waiting = FIFOSet()
    targetIDs = [:]
    resolutions = [:]
    foundWithoutTarget = []
  }

  /// The backend refused the target, and the consequence is stored. The wire knows nothing of the target any more.
  mutating func rejected(_ target: TargetID) -> [Action] {
    guard let resolution = resolutions.removeValue(forKey: target) else { return [] }
    targetIDs[resolution.key] = nil
    return fillPlaces()
  }

  /// Checks in debug builds what must hold between two calls.
  func assertInvariants() {
    assert(
      waiting.isEmpty || takenPlaces >= limit,
      "Documents wait although only \(takenPlaces) of \(limit) places are taken: \(waiting.elements).")
    assert(
      resolutions.count - limit <= limit && resolutions.values.count(where: \.isFound) <= limit,
      "More documents than \(limit) are looked up, or followed after that: \(resolutions).")
    assert(
      targetIDs.count == resolutions.count && targetIDs.allSatisfy { resolutions[$1]?.key == $0 },
      "The documents \(targetIDs) are looked up with the targets \(resolutions).")
    assert(
      targetIDs.keys.allSatisfy { viewsByKey[$0]?.isEmpty == false },
      "No view needs some of the documents that are looked up: \(targetIDs.keys.sorted()).")
  }

  /// Returns a target id that nothing has had, for a target without a row in the cache.
  mutating func takeTargetID() -> TargetID {
    defer { nextTargetID += 2 }
    return nextTargetID
  }

  private mutating func release(_ key: DocumentKey, from view: QueryID) -> [Action] {
    keysByView[view]?.remove(key)
    if keysByView[view]?.isEmpty == true { keysByView[view] = nil }
    viewsByKey[key]?.remove(view)
    guard viewsByKey[key]?.isEmpty == true else { return [] }
    viewsByKey[key] = nil
    waiting.remove(key)
    foundWithoutTarget.remove(key)
    // Without a target the lookup has been refused, had not begun, or has found enough.
    guard let target = targetIDs.removeValue(forKey: key) else { return [] }
    resolutions[target] = nil
    return [.unlisten(target)]
  }

  private var takenPlaces: Int { resolutions.values.count { !$0.isFound } }

  /// Lets go of the latest documents that were found beyond the limit, and looks the next ones up.
  private mutating func fillPlaces() -> [Action] {
    guard resolutions.count > limit || !waiting.isEmpty else { return [] }
    var actions: [Action] = []
    let found = resolutions.filter(\.value.isFound).keys.sorted()
    for target in found.dropFirst(limit) {
      guard let key = resolutions.removeValue(forKey: target)?.key else { continue }
      targetIDs[key] = nil
      foundWithoutTarget.insert(key)
      actions.append(.unlisten(target))
    }
    if waiting.isEmpty { return actions }
    var free = limit - takenPlaces
    while free > 0, let key = waiting.popFirst() {
      free -= 1
      let target = takeTargetID()
      targetIDs[key] = target
      resolutions[target] = Resolution(key: key)
      actions.append(.listen(key, target))
    }
    return actions
  }
}

/// A queue that contains each element at most once. Every operation takes constant time on average.
private struct FIFOSet<Element: Hashable> {
  private var slots: [Element?] = []
  private var head = 0
  private var positions: [Element: Int] = [:]

  var isEmpty: Bool { positions.isEmpty }
  var elements: [Element] { slots[head...].compactMap { $0 } }

  mutating func append(_ element: Element) {
    guard positions[element] == nil else { return }
    positions[element] = slots.count
    slots.append(element)
  }

  mutating func remove(_ element: Element) {
    guard let position = positions.removeValue(forKey: element) else { return }
    slots[position] = nil
    dropEmptyHead()
  }

  mutating func popFirst() -> Element? {
    guard head < slots.count, let first = slots[head] else { return nil }
    remove(first)
    return first
  }

  private mutating func dropEmptyHead() {
    while head < slots.count, slots[head] == nil { head += 1 }
    if head == slots.count {
      slots = []
      head = 0
    }
  }
}
