import Foundation
import HearthModel

/// The outcomes that processes were told, the commits of the backend, and the writes that no process could have kept.
///
/// It knows nothing of the code under test: a write is in a file if the file has the bytes of its identity.
struct FolderLedger {
  typealias Answer = Result<SimulatedBackend.Commit, StatusError>

  /// The answer that the caller of a write has got.
  enum Told: Equatable {
    case committed
    /// The backend has refused it.
    case refused
    /// Not saved, and never sent.
    case notSaved
    /// Saved, and lost with the file or a part of it.
    case lost
    /// Saved in a queue that this process does not use any more.
    case outOfReach
    /// It has left the outbox, and nobody knows how.
    case unknown
  }

  /// A reason why a write need not arrive.
  enum Loss {
    /// It was in a page that was damaged.
    case damage
    /// It was in a folder that was deleted or replaced.
    case folder
    /// Its process ended before it was stored.
    case process
  }

  struct Write {
    var owner: String?
    var mutations: [Mutation]
    var process: String
    var answer: Answer?
    var commitCount = 0
    /// Nil while the caller waits; a caller whose process has ended waits no more.
    var told: Told?
    var isCallerGone = false
    /// The caller has heard that the write is durable.
    var isSaved = false
    var loss: Loss?
  }

  /// The first half of the identity of each write. It stands nowhere else in a file.
  static let mark: UInt64 = 0xA1C7_93E5_0F6B_D288

  private(set) var writes: [Int: Write] = [:]
  /// The first violation that was found.
  private(set) var problem: String?

  static func identity(_ number: Int) -> BatchIdentity { BatchIdentity(high: mark, low: UInt64(number)) }

  mutating func note(_ text: String) { problem = problem ?? text }

  mutating func wrote(_ number: Int, _ mutations: [Mutation], by owner: String?, _ process: String) {
    writes[number] = Write(owner: owner, mutations: mutations, process: process)
  }

  // MARK: - The backend

  /// A write goes out.
  func problemWithSending(_ number: Int, _ mutations: [Mutation], as user: String?) -> String? {
    guard let write = writes[number] else { return "\(mutations) were sent, but never written" }
    if write.mutations != mutations { return "write \(number) went out as \(mutations), and was \(write.mutations)" }
    if write.owner != user {
      return "write \(number) of \(write.owner ?? "nobody") went out for \(user ?? "nobody")"
    }
    return nil
  }

  mutating func answered(_ number: Int, _ answer: Answer, isNew: Bool) {
    guard let write = writes[number] else { return }
    writes[number]?.answer = answer
    guard case .success = answer, isNew else { return }
    writes[number]?.commitCount += 1
    // Those that the same process has made before, for the same user.
    for (other, earlier) in writes where other < number && earlier.process == write.process && isDue(other) {
      if earlier.owner == write.owner { note("write \(number) was committed before write \(other)") }
    }
    if write.commitCount > 0 { note("write \(number) was committed twice") }
    if write.told == .notSaved { note("write \(number) was committed, but its caller was told that it is not saved") }
  }

  // MARK: - Callers

  /// A caller hears of its write.
  mutating func told(_ number: Int, _ told: Told, _ text: String = "") {
    guard let write = writes[number] else { return note("write \(number) was completed, but never made") }
    if let former = write.told { return note("the caller of write \(number) was told \(former), then \(told)") }
    if write.isCallerGone { return note("the caller of write \(number), which has ended, was told \(told)") }
    writes[number]?.told = told
    if told == .notSaved, write.isSaved { note("write \(number) was reported as saved, and then as not saved") }
    let answer = write.answer.map { "\($0)" } ?? "nothing"
    switch (told, write.answer) {
    case (.committed, .success), (.refused, .failure), (.notSaved, nil), (.outOfReach, _), (.unknown, _): break
    case (.lost, _) where write.loss != nil: break
    default: note("the caller of write \(number) was told \(told), the backend said \(answer): \(text)")
    }
  }

  /// A caller hears that its write is durable.
  mutating func saved(_ number: Int) { writes[number]?.isSaved = true }

  /// The numbers of the writes whose callers in a process still wait.
  func waiting(in process: String) -> [Int] {
    writes.filter { $0.value.process == process && $0.value.told == nil && !$0.value.isCallerGone }.keys.sorted()
  }

  /// The process has ended without telling the caller.
  mutating func callerIsGone(_ number: Int, isStored: Bool) {
    writes[number]?.isCallerGone = true
    if !isStored, isDue(number), writes[number]?.isSaved == true {
      note("write \(number) was reported as saved, and is not in the file")
    }
    if !isStored { lose(number, .process) }
  }

  // MARK: - Losses

  /// True if the write must arrive: it was stored or is held, nobody was told otherwise, and nothing has taken it away.
  func isDue(_ number: Int) -> Bool {
    guard let write = writes[number] else { return false }
    return write.answer == nil && write.loss == nil && write.told != .notSaved
  }

  var due: [Int] { writes.keys.filter(isDue).sorted() }

  mutating func lose(_ number: Int, _ loss: Loss) {
    if loss == .folder || writes[number]?.loss == nil { writes[number]?.loss = loss }
  }

  /// A folder that has the write is in its place again.
  mutating func isBack(_ number: Int) { writes[number]?.loss = nil }

  /// The writes that were lost with damaged pages, and whose callers have not heard of it.
  var lostInSilence: [Int] {
    writes.filter { $0.value.loss == .damage && $0.value.answer == nil && $0.value.told == nil }.keys.sorted()
  }

  /// Everything was sent that waited anywhere.
  mutating func checkEnd() {
    for number in due { note("write \(number) never reached the backend: \(writes[number].map { "\($0)" } ?? "")") }
  }

  /// The numbers of the writes whose identities stand in some bytes.
  static func numbers(in bytes: Data) -> Set<Int> {
    let first = Int32(mark >> 56)
    return bytes.withUnsafeBytes { bytes in
      var numbers: Set<Int> = []
      var offset = 0
      // Foundation's own search takes milliseconds for a file.
      while offset + BatchIdentity.byteCount <= bytes.count, let base = bytes.baseAddress,
        let found = memchr(base + offset, first, bytes.count - offset)
      {
        offset = UnsafeRawPointer(found) - base
        guard offset + BatchIdentity.byteCount <= bytes.count else { break }
        if UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self)) == mark {
          let low = UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: offset + 8, as: UInt64.self))
          numbers.insert(Int(truncatingIfNeeded: low))
        }
        offset += 1
      }
      return numbers
    }
  }
}
