import HearthModel

/// What the users wrote, and what the backend made of it: every write counts once.
struct WriteLedger {
  typealias Answer = Result<SimulatedBackend.Commit, StatusError>

  private struct Write {
    var mutations: [Mutation]
    var identity: BatchIdentity
    var commitCount = 0
    /// What the backend said last.
    var answer: Answer?
    /// The cache did not take it.
    var wasRefused = false
    /// It was only in a folder that was replaced.
    var mayBeLost = false
  }

  private var writes: [Int: Write] = [:]
  /// What must not be.
  private(set) var problem: String?

  mutating func wrote(_ number: Int, _ mutations: [Mutation], _ identity: BatchIdentity) {
    writes[number] = Write(mutations: mutations, identity: identity)
  }

  /// The backend has answered.
  ///
  /// - Parameter isNew: whether it carried out the request, and did not only repeat an earlier answer.
  mutating func answered(_ number: Int, _ answer: Answer, isNew: Bool, knowsLabels: Bool) {
    writes[number]?.answer = answer
    guard case .success = answer, isNew, var write = writes[number] else { return }
    write.commitCount += 1
    writes[number] = write
    if write.commitCount > 1, knowsLabels { note("write \(number) was committed twice") }
    if write.wasRefused { note("write \(number) was committed, but its user was told that it is not stored") }
  }

  /// The client hears that the write was committed.
  mutating func acknowledged(_ number: Int) {
    guard let write = writes[number] else { return note("write \(number) was answered, but never made") }
    guard write.commitCount == 0 else { return }
    // Two devices with one random generator may write the same under the same name; nobody can tell them apart.
    let twin = writes.values.contains {
      $0.identity == write.identity && $0.mutations == write.mutations && $0.commitCount > 0
    }
    if !twin { note("write \(number) was acknowledged, but is not at the backend: \(write.mutations)") }
  }

  /// The caller hears what became of the write.
  mutating func completed(_ number: Int, _ error: StatusError?) {
    guard let write = writes[number] else { return note("write \(number) was completed, but never made") }
    switch (write.answer, error) {
    case (.success, nil), (.failure, .some): break
    case (nil, .some): writes[number]?.wasRefused = true
    case (.success, let error?): note("write \(number) was committed, but its caller was told \(error)")
    case (_, nil): note("write \(number) was completed, but not committed")
    }
  }

  /// A folder was replaced that held the write.
  mutating func mayBeLost(_ number: Int) {
    writes[number]?.mayBeLost = true
  }

  /// Everything was sent that waited anywhere.
  mutating func checkEnd() {
    for (number, write) in writes.sorted(by: { $0.key < $1.key })
    where write.answer == nil && !write.wasRefused && !write.mayBeLost {
      note("write \(number) never reached the backend: \(write.mutations)")
    }
  }

  private mutating func note(_ text: String) {
    problem = problem ?? text
  }
}
