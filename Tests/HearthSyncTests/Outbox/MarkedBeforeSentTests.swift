import HearthCache
import HearthModel
import Testing

@testable import HearthSync

/// Nothing goes out that another process could still take back.
@Suite("Batches are marked as sent before they are sent")
struct MarkedBeforeSentTests {
  private let cache: SharedCache
  private let holder: SharedTestClient
  private let other: SharedTestClient

  init() throws {
    (cache, holder, other) = try SharedCache.makePair()
    holder.write(.set(key("rooms/0"), ["n": .integer(0)]))
    #expect(holder.sentBatches.count == 1)
  }

  private func write(_ numbers: Range<Int>) {
    other.write(batches: numbers.map { [.set(key("rooms/\($0)"), ["n": .integer(1)])] })
  }

  private var sentKeys: Set<DocumentKey> { Set(holder.sentBatches.map { $0[0].key }) }

  /// The other client cannot take back what the holder of the lease has sent, and what it can take back is not sent later.
  private func checkSent(sourceLocation: SourceLocation = #_sourceLocation) throws {
    #expect(holder.sentBatches.count > 1, sourceLocation: sourceLocation)
    let (sent, pending) = (sentKeys, try other.store.pendingBatches())
    var withdrawn: Set<DocumentKey> = []
    for batch in pending {
      let key = batch.mutations[0].key
      let call = other.request(.withdraw(batch.batchID, evenIfSent: false, identity: nil))
      let code = other.failedRequests[call]?.code
      if sent.contains(key) {
        #expect(code == .failedPrecondition, sourceLocation: sourceLocation)
      } else if code == nil {
        withdrawn.insert(key)
      }
    }
    // At most 100 are marked together.
    #expect(pending.count <= 101 || !withdrawn.isEmpty, sourceLocation: sourceLocation)
    cache.deliver()
    while holder.sentBatches.count > 1 {
      try holder.commit(at: 10)
      #expect(sentKeys.isDisjoint(with: withdrawn), sourceLocation: sourceLocation)
    }
    let left = Set(try other.store.pendingBatches().map { $0.mutations[0].key })
    #expect(left == sentKeys, sourceLocation: sourceLocation)
  }

  @Test("those that the holder hears of when the backend answers the handshake")
  func beforeHandshake() throws {
    holder.isRunning = false
    write(1..<6)
    holder.isRunning = true
    try holder.breakWriteStream()
    cache.wait(60)
    try checkSent()
  }

  @Test("those that come in while that is prepared", arguments: [3, 150])
  func duringPreparation(count: Int) throws {
    holder.hooks["Note sent batches"] = { [holder] in
      holder.hooks["Note sent batches"] = nil
      write(1..<count + 1)
    }
    try holder.breakWriteStream()
    cache.wait(60)
    try checkSent()
  }

  @Test("those that are written while the stream is open", arguments: [3, 150])
  func whileOpen(count: Int) throws {
    write(1..<count + 1)
    cache.deliver()
    try checkSent()
    try holder.breakWriteStream()
    cache.wait(60)
    write(200..<203)
    cache.deliver()
    try checkSent()
  }
}
